import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyLeftMs, StoredValues } from '../../../../agent/kademlia/routing/stored-values.ts';
import { keyOfBits } from '../contacts.ts';

const expireMs = 1000;
const republishMs = 100;
const renewMs = 800;

function storedValues(): StoredValues {
  const limits = { valuesMax: 2, publishedMax: 1, valueLengthMax: 5 };
  return new StoredValues({ expireMs, republishMs, renewMs, ...limits });
}

test('stored values: a value expires when its time is up', () => {
  const values = storedValues();
  assert.equal(values.store({ key: 1n, value: 'v', leftMs: 50 }, 0), 'stored');
  assert.equal(values.get(1n, 49), 'v');
  assert.equal(values.get(1n, 50), undefined);
});

test('stored values: no STORE makes a value live longer than expireMs', () => {
  const values = storedValues();
  values.store({ key: 1n, value: 'v', leftMs: 10 * expireMs }, 0);
  assert.equal(values.get(1n, expireMs - 1), 'v');
  assert.equal(values.get(1n, expireMs), undefined);
});

test('stored values: the value that was renewed later stays', () => {
  const values = storedValues();
  values.store({ key: 1n, value: 'new', leftMs: 500 }, 0);
  assert.equal(values.store({ key: 1n, value: 'old', leftMs: 300 }, 100), 'older');
  assert.equal(values.get(1n, 100), 'new');
  assert.equal(values.store({ key: 1n, value: 'next', leftMs: 1000 }, 100), 'stored');
  assert.equal(values.get(1n, 100), 'next');
});

test('stored values: a value without time left is not stored', () => {
  const values = storedValues();
  assert.equal(values.store({ key: 1n, value: 'v', leftMs: 0 }, 0), 'older');
  assert.equal(values.store({ key: 1n, value: 'v', leftMs: Number.NaN }, 0), 'older');
  assert.equal(values.get(1n, -1), undefined);
});

test('stored values: holders republish with the time that is left', () => {
  const values = storedValues();
  values.store({ key: 1n, value: 'v', leftMs: 500 }, 0);
  assert.deepEqual(values.due(republishMs - 1), []);
  assert.deepEqual(values.due(republishMs), [{ key: 1n, value: 'v', leftMs: 400 }]);
  assert.deepEqual(values.due(republishMs), []);
  assert.deepEqual(values.due(2 * republishMs), [{ key: 1n, value: 'v', leftMs: 300 }]);
  assert.deepEqual(values.due(500), []);
});

test('stored values: a holder does not republish what another has just republished', () => {
  const values = storedValues();
  values.store({ key: 1n, value: 'v', leftMs: 500 }, 0);
  assert.equal(values.store({ key: 1n, value: 'v', leftMs: 450 }, 50), 'older');
  assert.deepEqual(values.due(republishMs), []);
  assert.equal(values.due(50 + republishMs).length, 1);
  values.store({ key: 1n, value: 'x', leftMs: 100 }, 200);
  assert.equal(values.due(50 + 2 * republishMs).length, 1);
});

test('stored values: refuses long values, and more values than it may hold', () => {
  const values = storedValues();
  const store = (key: bigint, value: string, now: number) =>
    values.store({ key, value, leftMs: 100 }, now);
  assert.equal(store(1n, 'longer', 0), 'too-long');
  assert.deepEqual([store(1n, 'a', 0), store(2n, 'b', 50)], ['stored', 'stored']);
  assert.equal(store(3n, 'c', 60), 'full');
  assert.equal(store(2n, 'bb', 60), 'stored');
  assert.equal(values.get(3n, 60), undefined);
  assert.equal(store(3n, 'c', 100), 'stored');
});

test('stored values: the publisher renews with the full time until it withdraws the value', () => {
  const values = storedValues();
  assert.equal(values.publish(1n, 'v', 5), 'stored');
  assert.equal(values.get(1n, 5), 'v');
  assert.deepEqual(values.due(5), [{ key: 1n, value: 'v', leftMs: expireMs }]);
  assert.deepEqual(values.due(5 + renewMs - 1), []);
  assert.deepEqual(values.due(5 + renewMs), [{ key: 1n, value: 'v', leftMs: expireMs }]);
  values.publish(1n, 'w', 900);
  assert.deepEqual(values.due(900), [{ key: 1n, value: 'w', leftMs: expireMs }]);
  values.withdraw(1n);
  assert.deepEqual(values.due(5000), []);
  assert.equal(values.get(1n, 5000), undefined);
});

test('stored values: the publisher does not republish its own value as a holder', () => {
  const values = storedValues();
  values.publish(1n, 'v', 0);
  values.due(0);
  values.store({ key: 1n, value: 'v', leftMs: expireMs }, 1);
  assert.deepEqual(values.due(1 + republishMs), []);
});

test('stored values: refuses to publish long values, and more than it may', () => {
  const values = storedValues();
  assert.equal(values.publish(1n, 'longer', 0), 'too-long');
  assert.equal(values.publish(1n, 'a', 0), 'stored');
  assert.equal(values.publish(2n, 'b', 0), 'full');
  assert.equal(values.publish(1n, 'c', 0), 'stored');
});

test('stored values: a new agent gets copies of the values to whose keys it is nearer', () => {
  const values = storedValues();
  values.store({ key: keyOfBits('0001'), value: 'near', leftMs: 100 }, 0);
  values.store({ key: keyOfBits('11'), value: 'far', leftMs: 100 }, 0);
  const [newcomer, own] = [[keyOfBits('000')], [keyOfBits('1'), keyOfBits('01')]];
  assert.deepEqual(values.copiesFor(newcomer, own, 40), [
    { key: keyOfBits('0001'), value: 'near', leftMs: 60 },
  ]);
  assert.deepEqual(values.copiesFor(own, own, 40), []);
  assert.deepEqual(values.copiesFor(newcomer, own, 100), []);
});

test('stored values: the life of a copy halves with each agent between', () => {
  assert.deepEqual(
    [0, 1, 3].map((between) => copyLeftMs(800, between)),
    [800, 400, 100],
  );
});
