import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostWalk } from '../../../../agent/core/hand-off/host-walk.ts';

function storeOf(names: string) {
  const rows = [...names].map((host, i) => ({ number: i + 1, host }));
  return {
    rows,
    lastHost: () => rows.at(-1)?.number ?? 0,
    hostsAfter: (number: number, max: number) =>
      rows.filter((row) => row.number > number).slice(0, max),
  };
}

test('host walk: returns some hosts at a time, up to the last one at its start', () => {
  const store = storeOf('abcde');
  const walk = new HostWalk(store);
  assert.deepEqual(walk.take(2), ['a', 'b']);
  store.rows.push({ number: 6, host: 'f' });
  assert.deepEqual([walk.take(2), walk.isOver], [['c', 'd'], false]);
  assert.deepEqual([walk.take(2), walk.isOver], [['e'], true]);
  assert.deepEqual(walk.take(2), []);
});

test('host walk: skips hosts that are deleted meanwhile, even the last one', () => {
  const store = storeOf('abcd');
  const walk = new HostWalk(store);
  assert.deepEqual(walk.take(1), ['a']);
  store.rows.splice(1, 1);
  store.rows.pop();
  assert.deepEqual([walk.take(1), walk.isOver], [['c'], false]);
  assert.deepEqual([walk.take(1), walk.isOver], [[], true]);
});

test('host walk: is over at once if there are no hosts', () => {
  assert.equal(new HostWalk(storeOf('')).isOver, true);
});
