// Tests which archive positions `ArchiveProgress` accepts, commits and confirms, whether they
// arrive in the order of their records or not.

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

test('progress: each step forward is returned for the commit and then confirmed once', () => {
  const progress = new ArchiveProgress();
  assert.equal(progress.committed(), null);
  assert.deepEqual(progress.note(place(1, 100)), place(1, 100));
  assert.deepEqual(progress.note(place(1, 200)), place(1, 200));
  assert.deepEqual(progress.committed(), place(1, 200));
  assert.equal(progress.committed(), null);
});

test('progress: a page whose record precedes the last one does not move the position back', () => {
  const progress = new ArchiveProgress();
  assert.deepEqual(progress.note(place(1, 200)), place(1, 200));
  assert.equal(progress.note(place(1, 100)), null);
  assert.deepEqual(progress.committed(), place(1, 200));
  assert.equal(progress.note(place(1, 150)), null);
  assert.equal(progress.committed(), null);
});

test('progress: a later file counts as further, however short, and serials compare as numbers', () => {
  const progress = new ArchiveProgress();
  assert.deepEqual(progress.note(place(99_999, 500)), place(99_999, 500));
  assert.deepEqual(progress.note(place(100_000, 50)), place(100_000, 50));
  assert.equal(progress.note(place(99_999, 600)), null);
  assert.deepEqual(progress.committed(), place(100_000, 50));
});

test('progress: keeps nothing of a place but its position', () => {
  const whole = { ...place(1, 100), offset: 7 };
  assert.deepEqual(new ArchiveProgress().note(whole), place(1, 100));
});
