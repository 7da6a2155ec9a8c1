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

test('presence: reports neither an existing state file nor a new log', (context) => {
  const { file, told, wait } = stage(context);
  fs.writeFileSync(`${file}-wal`, 'log');
  fs.appendFileSync(file, 'more');
  for (let looks = 0; looks < 5; looks++) wait();
  assert.deepEqual(told, []);
});

test('presence: reports a deleted state file once, within a second', (context) => {
  const { file, told, wait } = stage(context);
  wait();
  fs.rmSync(file);
  wait();
  wait();
  assert.deepEqual(told, ['state.sqlite']);
});

test('presence: reports a state file that was replaced', (context) => {
  const { file, told, wait } = stage(context);
  fs.writeFileSync(`${file}.copy`, 'copy');
  fs.renameSync(`${file}.copy`, file);
  wait();
  assert.deepEqual(told, ['state.sqlite']);
});

test('presence: reports a write-ahead log that was deleted after it was seen', (context) => {
  const { file, told, wait } = stage(context);
  fs.writeFileSync(`${file}-wal`, 'log');
  wait();
  fs.rmSync(`${file}-wal`);
  wait();
  assert.deepEqual(told, ['state.sqlite-wal']);
});

test('presence: reports a state file that is missing at the first check', (context) => {
  const { file, told, wait } = stage(context, { isThere: false });
  assert.equal(fs.existsSync(file), false);
  wait();
  assert.deepEqual(told, ['state.sqlite']);
});

test('presence: reports nothing after the end of the agent', async (context) => {
  const { file, told, ended, wait } = stage(context);
  ended.resolve();
  await ended.promise;
  fs.rmSync(file);
  wait();
  assert.deepEqual(told, []);
});
