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

test('host walk: some at a time, to the last one there was', () => {
  const store = storeOf('abcde');
  const walk = new HostWalk(store);
  assert.deepEqual(walk.take(2), ['a', 'b']);
  store.rows.push({ number: 6, host: 'f' });
  assert.deepEqual([walk.take(2), walk.isOver], [['c', 'd'], false]);
  assert.deepEqual([walk.take(2), walk.isOver], [['e'], true]);
  assert.deepEqual(walk.take(2), []);
});

test('host walk: what is deleted meanwhile is left out, the last one too', () => {
  const store = storeOf('abcd');
  const walk = new HostWalk(store);
  assert.deepEqual(walk.take(1), ['a']);
  store.rows.splice(1, 1);
  store.rows.pop();
  assert.deepEqual([walk.take(1), walk.isOver], [['c'], false]);
  assert.deepEqual([walk.take(1), walk.isOver], [[], true]);
});

test('host walk: of no hosts it is over at once', () => {
  assert.equal(new HostWalk(storeOf('')).isOver, true);
});
