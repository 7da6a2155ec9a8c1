// The plan of a storm: the seed determines it, and faults have the intended sizes and durations.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  drawShape,
  drawSteps,
  type PlanOptions,
  type Step,
  weights,
} from '../../chaos/storm-plan.ts';

const kinds = Object.keys(weights).sort();
const suspectAfterMs = 1000;

function stepsOf(seed: number, count: number, given: Partial<PlanOptions> = {}): Step[] {
  const ids = ['a1', 'a2', 'a3', 'a4', 'a5'];
  const options = { seed, ids, backups: 2, suspectAfterMs, afterMsMax: 100, ...given };
  return drawSteps(options).take(count).toArray();
}

test('storm: a seed gives one plan, and another seed a different one', () => {
  assert.deepEqual(stepsOf(7, 200), stepsOf(7, 200));
  assert.notDeepEqual(stepsOf(7, 20), stepsOf(8, 20));
  assert.deepEqual(drawShape(7), drawShape(7));
});

test('storm: the first faults include each kind once', () => {
  for (let seed = 0; seed < 50; seed++) {
    const first = stepsOf(seed, kinds.length).map(({ fault }) => fault.kind);
    assert.deepEqual(first.sort(), kinds);
  }
});

test('storm: later faults of each kind occur in proportion to its weight', () => {
  const count = 20_000;
  const drawn = stepsOf(3, count + kinds.length).slice(kinds.length);
  const sum = Object.values(weights).reduce((all, weight) => all + weight, 0);
  for (const [kind, weight] of Object.entries(weights)) {
    const share = drawn.filter(({ fault }) => fault.kind === kind).length / count;
    assert.ok(Math.abs(share - weight / sum) < 0.02, `${kind}: ${share}`);
  }
});

test('storm: no more agents are away than there are backups, and the rest hold all copies', () => {
  const sizes = new Set<number>();
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const { agents, backups, awayMax } = drawShape(seed);
      sizes.add(agents);
      assert.ok(agents >= 3 && agents <= 7 && awayMax >= 1 && awayMax <= backups);
      assert.ok(agents - awayMax > backups, 'the remaining agents can hold all copies');
    }),
  );
  assert.deepEqual([...sizes].sort(), [3, 4, 5, 6, 7]);
  assert.equal(drawShape(1, 4).agents, 4);
});

test('storm: no more disks are lost at once than there are backups, of different agents', () => {
  for (const backups of [1, 2]) {
    const lost = stepsOf(5, 5000, { backups }).filter(({ fault }) => fault.kind === 'wipe');
    const counts = new Set(lost.map(({ fault }) => new Set(fault.ids).size));
    assert.deepEqual([...counts].sort(), backups === 1 ? [1] : [1, 2]);
  }
});

test('storm: stalls are shorter than the lease, near the time-out, or much longer', () => {
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

test('storm: cuts isolate up to half the agents, on all or some links, in each direction', () => {
  const ids = ['a1', 'a2', 'a3', 'a4', 'a5'];
  const cuts = stepsOf(11, 20_000).flatMap(({ fault }) => (fault.kind === 'cut' ? [fault] : []));
  for (const { ids: some, others, bridged } of cuts) {
    const named = new Set([...some, ...others]);
    assert.equal(named.size, some.length + others.length, 'no agent is on both sides');
    assert.equal(named.size < ids.length, bridged, 'an agent on neither side is connected to both');
    assert.ok(some.length >= 1 && others.length >= 1 && some.length <= (bridged ? 1 : 2));
  }
  const all = (of: (cut: (typeof cuts)[number]) => unknown) => [...new Set(cuts.map(of))].sort();
  assert.deepEqual(
    all(({ ways }) => ways),
    ['both', 'deaf', 'mute'],
  );
  assert.deepEqual(
    all(({ heldMsMax }) => heldMsMax),
    [0, suspectAfterMs],
  );
  assert.deepEqual(
    all(({ ids: some }) => some.length),
    [1, 2],
  );
  assert.deepEqual(
    all(({ bridged }) => bridged),
    [false, true],
  );
  assert.ok(cuts.some(({ forMs }) => forMs < 500) && cuts.some(({ forMs }) => forMs > 1500));
});

test('storm: links delay, repeat, damage, reset or throttle, to one agent or to all', () => {
  const links = stepsOf(13, 20_000).flatMap(({ fault }) => (fault.kind === 'link' ? [fault] : []));
  const troubles = Map.groupBy(links, ({ trouble }) => trouble);
  assert.deepEqual([...troubles.keys()].sort(), [
    ...['damaged', 'late', 'repeated', 'reset', 'throttled'],
  ]);
  for (const [trouble, drawn] of troubles) {
    assert.deepEqual([...new Set(drawn.map(({ at }) => at.length))].sort(), [1, 5], trouble);
    const costly = !['late', 'repeated'].includes(trouble);
    for (const { ids, at } of drawn) assert.deepEqual(ids, costly ? at : [], trouble);
  }
});

test('storm: clocks jump by a second to a day either way, and disks fill up or fail', () => {
  const faults = stepsOf(17, 20_000).map(({ fault }) => fault);
  const jumps = faults.flatMap((fault) => (fault.kind === 'clock' ? [fault.byMs] : []));
  for (const sign of [1, -1]) {
    const sizes = jumps.map((ms) => sign * ms).filter((ms) => ms > 0);
    assert.ok(sizes.every((ms) => ms >= 1000 && ms <= 86_400_000));
    assert.ok(sizes.some((ms) => ms < 10_000) && sizes.some((ms) => ms > 3_600_000 * 5));
  }
  const how = faults.flatMap((fault) => (fault.kind === 'disk' ? [fault.how] : []));
  assert.deepEqual([...new Set(how)].sort(), ['broken', 'full']);
});
