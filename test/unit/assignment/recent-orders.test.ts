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

test('recent orders: compute a list once, and again only if a longer one is needed', () => {
  const recent = new RecentOrders();
  const computed: number[] = [];
  const compute = (host: string, count: number): string[] => {
    computed.push(count);
    return ['a', 'b', 'c', 'd', 'e'].slice(0, count).map((id) => `${id} of ${host}`);
  };
  assert.deepEqual(recent.first('h', 1, compute)[0], 'a of h');
  assert.deepEqual(recent.first('h', 3, compute), ['a of h', 'b of h', 'c of h']);
  assert.equal(recent.first('h', 5, compute).length, 5);
  assert.equal(recent.first('h', 2, compute).length, 5);
  assert.equal(recent.first('other', 4, compute)[3], 'd of other');
  assert.deepEqual(computed, [3, 5, 4]);
});
