// The plan of a storm: what a seed means, and that no plan asks for more than is promised.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  drawShape,
  drawSteps,
  type Fault,
  type PlanOptions,
  type Step,
  weights,
} from '../../chaos/storm-plan.ts';
import { costsOf, mayBegin } from '../../chaos/storm-promises.ts';

const kinds = Object.keys(weights).sort();
const suspectAfterMs = 1000;

function stepsOf(seed: number, count: number, given: Partial<PlanOptions> = {}): Step[] {
  const ids = ['a1', 'a2', 'a3', 'a4', 'a5'];
  const options = { seed, ids, backups: 2, suspectAfterMs, afterMsMax: 100, ...given };
  return drawSteps(options).take(count).toArray();
}

test('storm: a seed is one plan, and another seed another', () => {
  assert.deepEqual(stepsOf(7, 200), stepsOf(7, 200));
  assert.notDeepEqual(stepsOf(7, 20), stepsOf(8, 20));
  assert.deepEqual(drawShape(7), drawShape(7));
});

test('storm: the first faults are one of each kind', () => {
  for (let seed = 0; seed < 50; seed++) {
    const first = stepsOf(seed, kinds.length).map(({ fault }) => fault.kind);
    assert.deepEqual(first.sort(), kinds);
  }
});

test('storm: after them each kind comes as often as its weight says', () => {
  const count = 20_000;
  const drawn = stepsOf(3, count + kinds.length).slice(kinds.length);
  const sum = Object.values(weights).reduce((all, weight) => all + weight, 0);
  for (const [kind, weight] of Object.entries(weights)) {
    const share = drawn.filter(({ fault }) => fault.kind === kind).length / count;
    assert.ok(Math.abs(share - weight / sum) < 0.02, `${kind}: ${share}`);
  }
});

test('storm: never more away than there are copies, nor so many that copies lack agents', () => {
  const sizes = new Set<number>();
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const { agents, backups, awayMax } = drawShape(seed);
      sizes.add(agents);
      assert.ok(agents >= 3 && agents <= 7 && awayMax >= 1 && awayMax <= backups);
      assert.ok(agents - awayMax > backups, 'those who stay can make all copies');
    }),
  );
  assert.deepEqual([...sizes].sort(), [3, 4, 5, 6, 7]);
  assert.equal(drawShape(1, 4).agents, 4);
});

test('storm: no more disks are lost at once than there are copies, each of another agent', () => {
  for (const backups of [1, 2]) {
    const lost = stepsOf(5, 5000, { backups }).filter(({ fault }) => fault.kind === 'wipe');
    const counts = new Set(lost.map(({ fault }) => new Set(fault.ids).size));
    assert.deepEqual([...counts].sort(), backups === 1 ? [1] : [1, 2]);
  }
});

test('storm: stalls are shorter than the lease, about the time-out, and much longer', () => {
  const faults = stepsOf(9, 5000).map(({ fault }) => fault);
  const stalls = faults.flatMap((fault) => (fault.kind === 'stall' ? [fault.forMs] : []));
  for (const [low, high] of [
    [0, 500],
    [600, 1200],
    [1500, 3000],
  ] as const) {
    assert.ok(stalls.filter((ms) => ms >= low && ms <= high).length > stalls.length / 5);
  }
});

test('storm: a crash excuses twice the threads, a long stall stray requests too, orders nothing', () => {
  const of = (...faults: Fault[]) => costsOf(faults, { threads: 8, suspectAfterMs });
  assert.deepEqual(of({ kind: 'kill', ids: ['a1'], awayMs: 5 }), { overlapMax: 16, strayMax: 0 });
  const power: Fault = { kind: 'power', ids: ['a1', 'a2', 'a3'], awayMs: 5 };
  assert.deepEqual(of(power), { overlapMax: 48, strayMax: 0 });
  const stall = (forMs: number): Fault => ({ kind: 'stall', ids: ['a1'], forMs });
  assert.deepEqual(of(stall(400)), { overlapMax: 0, strayMax: 0 });
  assert.deepEqual(of(stall(700)), { overlapMax: 16, strayMax: 8 });
  const calm: Fault[] = [
    { kind: 'leave', ids: ['a1'], awayMs: 5 },
    { kind: 'stop', ids: ['a1', 'a2'], awayMs: 5 },
    { kind: 'seed', ids: [] },
    { kind: 'pause', ids: [], forMs: 5 },
  ];
  assert.deepEqual(of(...calm), { overlapMax: 0, strayMax: 0 });
});

test('storm: no agent is befallen twice at once, nor more than may be away', () => {
  const kill = (id: string): Fault => ({ kind: 'kill', ids: [id], awayMs: 5 });
  assert.ok(mayBegin(kill('a1'), [], 1));
  assert.ok(!mayBegin(kill('a2'), [kill('a1')], 1));
  assert.ok(mayBegin(kill('a2'), [kill('a1')], 2));
  assert.ok(!mayBegin(kill('a1'), [kill('a1')], 2));
  assert.ok(!mayBegin(kill('a3'), [kill('a1'), kill('a2')], 2));
  assert.ok(mayBegin({ kind: 'seed', ids: [] }, [kill('a1')], 1), 'an order is nobody away');
});

test('storm: what takes disks or all agents waits for the others, and they for it', () => {
  const seed: Fault = { kind: 'seed', ids: [] };
  const graves: Fault[] = [
    { kind: 'wipe', ids: ['a1', 'a2'], awayMs: 5 },
    { kind: 'damage', ids: ['a1'], awayMs: 5, damage: 'gone', where: 1 },
    { kind: 'power', ids: ['a1', 'a2', 'a3'], awayMs: 5 },
    { kind: 'stop', ids: ['a1', 'a2', 'a3'], awayMs: 5 },
  ];
  for (const grave of graves) {
    assert.ok(mayBegin(grave, [], 1));
    assert.ok(!mayBegin(grave, [seed], 2));
    assert.ok(!mayBegin(seed, [grave], 2));
  }
});
