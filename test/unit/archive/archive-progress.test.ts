// Places as a run of pages gives them: in the order of their records, and in every other.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArchiveProgress } from '../../../agent/archive/archive-progress.ts';
import type { ArchivePosition } from '../../../agent/archive/record/capture.ts';
import { fileNames } from '../../../agent/archive/record/file-name.ts';

function place(serial: number, end: number): ArchivePosition {
  return {
    file: fileNames('a-1', 0, serial, serial % 2 ? 'gzip' : 'zstd').warc,
    end,
    indexEnd: end / 10,
  };
}

test('progress: each step forward is to be committed, then to be confirmed once', () => {
  const progress = new ArchiveProgress();
  assert.equal(progress.committed(), null);
  assert.deepEqual(progress.note(place(1, 100)), place(1, 100));
  assert.deepEqual(progress.note(place(1, 200)), place(1, 200));
  assert.deepEqual(progress.committed(), place(1, 200));
  assert.equal(progress.committed(), null);
});

test('progress: a page taken in after one whose record is behind its own moves nothing back', () => {
  const progress = new ArchiveProgress();
  assert.deepEqual(progress.note(place(1, 200)), place(1, 200));
  assert.equal(progress.note(place(1, 100)), null);
  assert.deepEqual(progress.committed(), place(1, 200));
  assert.equal(progress.note(place(1, 150)), null);
  assert.equal(progress.committed(), null);
});

test('progress: a later file is further, however short, and by number, not by letters', () => {
  const progress = new ArchiveProgress();
  assert.deepEqual(progress.note(place(99_999, 500)), place(99_999, 500));
  assert.deepEqual(progress.note(place(100_000, 50)), place(100_000, 50));
  assert.equal(progress.note(place(99_999, 600)), null);
  assert.deepEqual(progress.committed(), place(100_000, 50));
});

test('progress: what is kept of a place is the position alone', () => {
  const whole = { ...place(1, 100), offset: 7 };
  assert.deepEqual(new ArchiveProgress().note(whole), place(1, 100));
});
