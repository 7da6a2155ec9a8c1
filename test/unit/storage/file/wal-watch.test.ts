import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { WAL_REMEDY, WalGrowth, watchWal } from '../../../../agent/storage/file/wal-watch.ts';

const MIB = 1024 * 1024;

test('log watch: a growing log is reported once for each doubling, and again after it was truncated', () => {
  const growth = new WalGrowth();
  const sizes = [0, 255, 256, 300, 511, 600, 900, 5000, 5100, 64, 255, 257, 300];
  const told = sizes.filter((size) => growth.isNews(size * MIB));
  assert.deepEqual(told, [256, 600, 5000, 257]);
});

test('log watch: the log beside the state file is watched, whether it exists or not', async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-wal-'));
  const state = path.join(directory, 'state.sqlite');
  const grown = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<void>();
  watchWal(state, grown.resolve, ended.promise, 5);
  const alive = setInterval(() => {}, 1000);
  fs.writeFileSync(`${state}-wal`, '');
  // A sparse file, which needs no space on the disk.
  fs.truncateSync(`${state}-wal`, 300 * MIB);
  assert.equal(await grown.promise, 300 * MIB);
  ended.resolve();
  clearInterval(alive);
  fs.rmSync(directory, { recursive: true });
  assert.match(WAL_REMEDY, /end that program/);
});
