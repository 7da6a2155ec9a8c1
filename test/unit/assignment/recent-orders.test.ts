import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentOrders } from '../../../assignment/recent-orders.ts';

const generationHosts = 32_768;

test('recent orders: keeps entries that are used, and drops those that are not', () => {
  const recent = new RecentOrders();
  recent.set('asked', ['a']);
  recent.set('not asked', ['b']);
  for (let i = 0; i < 3 * generationHosts; i++) {
    recent.set(`h${i}`, ['c']);
    assert.deepEqual(recent.get('asked'), ['a']);
  }
  assert.equal(recent.get('not asked'), undefined);
});

test('recent orders: keeps the hosts of the last full generation', () => {
  const recent = new RecentOrders();
  for (let i = 0; i <= generationHosts; i++) recent.set(`h${i}`, [`a${i}`]);
  assert.deepEqual(recent.get('h0'), ['a0']);
  recent.set('h0', ['longer', 'order']);
  assert.deepEqual(recent.get('h0'), ['longer', 'order']);
});
