import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { watchPresence } from '../../../../agent/storage/file/file-presence.ts';

function stage(context: TestContext, { isThere } = { isThere: true }) {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-presence-'));
  context.after(() => fs.rmSync(directory, { recursive: true }));
  const file = path.join(directory, 'state.sqlite');
  if (isThere) fs.writeFileSync(file, 'state');
  const told: string[] = [];
  const ended = Promise.withResolvers<void>();
  watchPresence(file, (gone) => told.push(path.basename(gone)), ended.promise);
  return { file, told, ended, wait: () => context.mock.timers.tick(1000) };
}

test('presence: a state file that stays is not told of, nor a log that appears', (context) => {
  const { file, told, wait } = stage(context);
  fs.writeFileSync(`${file}-wal`, 'log');
  fs.appendFileSync(file, 'more');
  for (let looks = 0; looks < 5; looks++) wait();
  assert.deepEqual(told, []);
});

test('presence: a state file that is deleted is told of once, within a second', (context) => {
  const { file, told, wait } = stage(context);
  wait();
  fs.rmSync(file);
  wait();
  wait();
  assert.deepEqual(told, ['state.sqlite']);
});

test('presence: a state file that another one replaces is told of', (context) => {
  const { file, told, wait } = stage(context);
  fs.writeFileSync(`${file}.copy`, 'copy');
  fs.renameSync(`${file}.copy`, file);
  wait();
  assert.deepEqual(told, ['state.sqlite']);
});

test('presence: a write-ahead log that is deleted after it was seen is told of', (context) => {
  const { file, told, wait } = stage(context);
  fs.writeFileSync(`${file}-wal`, 'log');
  wait();
  fs.rmSync(`${file}-wal`);
  wait();
  assert.deepEqual(told, ['state.sqlite-wal']);
});

test('presence: a state file that is gone before the first look is told of', (context) => {
  const { file, told, wait } = stage(context, { isThere: false });
  assert.equal(fs.existsSync(file), false);
  wait();
  assert.deepEqual(told, ['state.sqlite']);
});

test('presence: after the end of the agent nothing is told', async (context) => {
  const { file, told, ended, wait } = stage(context);
  ended.resolve();
  await ended.promise;
  fs.rmSync(file);
  wait();
  assert.deepEqual(told, []);
});
