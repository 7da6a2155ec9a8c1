import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import {
  removeScratch,
  scratchDirectory,
} from '../../../../agent/storage/file/scratch-directory.ts';

test('what a killed process has left is removed after a day', () => {
  const root = mkdtempSync(join(tmpdir(), 'ubiring-scratch-'));
  const before = process.env.TMPDIR;
  process.env.TMPDIR = root;
  try {
    const [old, young] = [scratchDirectory(), scratchDirectory()];
    const dayAgo = Date.now() / 1000 - 25 * 3600;
    utimesSync(old, dayAgo, dayAgo);
    const next = scratchDirectory();
    assert.deepEqual(readdirSync(root).sort(), [young, next].map((path) => basename(path)).sort());
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(root, { recursive: true });
  }
});

test('a directory that cannot be removed is left', () => {
  const root = mkdtempSync(join(tmpdir(), 'ubiring-scratch-'));
  const file = join(root, 'file');
  writeFileSync(file, '');
  // A path below a file fails for every user, as does a disk that can only be read.
  removeScratch(join(file, 'below'));
  rmSync(root, { recursive: true });
});
