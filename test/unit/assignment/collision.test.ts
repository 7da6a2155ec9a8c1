import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCollision } from '../../../assignment/collision.ts';
import { RingPoints } from '../../../assignment/ring-points.ts';
import { collidingSha256 } from './sha256.ts';

const points = new RingPoints({ replicas: 4, sha256: collidingSha256 });

test('collision: agents with distinct points have no collision', () => {
  const members = Array.from({ length: 40 }, (_, i) => ({ id: `agent${i}`, capacity: 5 }));
  assert.equal(findCollision(members, points), null);
  assert.equal(findCollision([], points), null);
});

test('collision: reports the lowest common point and both agents in order', () => {
  const members = ['z', 'b#2', 'y', 'b#1'].map((id) => ({ id, capacity: 1 }));
  const lowest = [...points.points('b#1', 1)].reduce((a, b) => (a < b ? a : b));
  assert.deepEqual(findCollision(members, points), { point: lowest, a: 'b#1', b: 'b#2' });
});

test('collision: finds a single common point among many points', () => {
  const members = [
    { id: 'b#1', capacity: 100 },
    { id: 'b#2', capacity: 0.25 },
    { id: 'c', capacity: 100 },
  ];
  const shared = points.points('b#2', 0.25)[0];
  assert.deepEqual(findCollision(members, points), { point: shared, a: 'b#1', b: 'b#2' });
});
