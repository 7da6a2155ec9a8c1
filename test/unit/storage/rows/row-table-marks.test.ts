// Tests the marks: up to which number the events of each sender and host have arrived, and how they
// change when a sender restarts with lower numbers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { turn } from '../../../contract/store/store-contract.ts';
import { Work } from '../../../simulation/work.ts';

function open() {
  const work = new Work();
  const options = { durability: 'process', hostDelayMs: 0 } as const;
  const store = new SqliteStore(work.counted(openInMemory()), options);
  const receive = (sender: string, host: string, to: number) => {
    const item = { host, from: 0, to, events: [], version: to, backoffMs: 0, delayMs: 0 };
    turn(store, () => store.applyRows(sender, item, false, 0));
  };
  return { store, work, receive };
}

test('marks: forgets the marks of one sender above a number, and returns their hosts', () => {
  const { store, receive } = open();
  receive('x', 'a.test', 5);
  receive('x', 'b.test', 9);
  receive('x', 'c.test', 12);
  receive('y', 'c.test', 12);
  const before = store.generation();
  assert.deepEqual(turn(store, () => store.forgetMarksAbove('x', 5)).sort(), ['b.test', 'c.test']);
  const marks = ['a.test', 'b.test', 'c.test'].map((host) => store.markOf(host, 'x'));
  assert.deepEqual(marks, [5, 0, 0]);
  assert.equal(store.markOf('c.test', 'y'), 12);
  assert.equal(store.generation(), before + 1);
});

test('marks: keeps the generation if there are none to forget', () => {
  const { store, receive } = open();
  receive('x', 'a.test', 5);
  const before = store.generation();
  assert.deepEqual(
    turn(store, () => store.forgetMarksAbove('x', 5)),
    [],
  );
  assert.equal(store.generation(), before);
});

test('marks: forgets the marks of thousands of hosts in one statement', () => {
  const { store, work, receive } = open();
  for (let n = 1; n <= 2000; n++) receive('x', `${n}.test`, n);
  const before = work.units;
  assert.equal(turn(store, () => store.forgetMarksAbove('x', 0)).length, 2000);
  // One unit for each row, and a few for the turn itself.
  assert.ok(work.units - before < 2010, `${work.units - before} units`);
});
