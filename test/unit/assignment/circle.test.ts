import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildCircle, firstAtOrAfter } from '../../../assignment/circle.ts';
import { findCollision } from '../../../assignment/collision.ts';
import { RingPoints } from '../../../assignment/ring-points.ts';
import { sha256 } from './sha256.ts';

/** Ring points that the test chooses, in place of random ones. */
class GivenPoints extends RingPoints {
  readonly #given: Record<string, bigint[]>;

  constructor(given: Record<string, bigint[]>) {
    super({ replicas: 1, sha256 });
    this.#given = given;
  }

  override points(id: string): BigUint64Array {
    return BigUint64Array.from(this.#given[id]!);
  }
}

const members = ['c', 'a', 'b'].map((id) => ({ id, capacity: 1 }));

test('circle: places that round to the same double keep their exact order', () => {
  const top = 2n ** 64n - 1n;
  const points = new GivenPoints({ a: [top, 2n ** 63n + 3n], b: [2n ** 63n + 1n], c: [top - 1n] });
  const { ids, places, agents } = buildCircle(members, points);
  assert.deepEqual(ids, ['a', 'b', 'c']);
  assert.deepEqual([...places], [2n ** 63n + 1n, 2n ** 63n + 3n, top - 1n, top]);
  assert.deepEqual([...agents], [1, 0, 2, 0]);
});

test('circle: finds the first point at or after a place, or reports none', () => {
  const places = BigUint64Array.from([5n, 9n, 2n ** 64n - 1n]);
  const found = [0n, 5n, 6n, 9n, 10n, 2n ** 64n - 1n].map((place) => firstAtOrAfter(places, place));
  assert.deepEqual(found, [0, 0, 1, 1, 2, 2]);
  assert.equal(firstAtOrAfter(places.subarray(0, 2), 10n), 2);
});

test('collision: a point that one agent has twice is not a collision', () => {
  const points = new GivenPoints({ a: [7n, 8n, 7n], b: [9n], c: [10n] });
  assert.equal(findCollision(members, points), null);
});

test('collision: is found even if the first of the two agents has the point twice', () => {
  const points = new GivenPoints({ a: [1n], b: [7n, 7n], c: [7n] });
  assert.deepEqual(findCollision(members, points), { point: 7n, a: 'b', b: 'c' });
});
