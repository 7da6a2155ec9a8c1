// Tests the demands of a storm on a cluster and the cost of its faults. No plan demands more than the
// product promises, and no fault excuses more than it may cost.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault } from '../../chaos/storm-plan.ts';
import {
  costsOf,
  mayBegin,
  moreFetches,
  moreSides,
  needsCopies,
} from '../../chaos/storm-promises.ts';

const terms = { quorum: 'none', backups: 1, suspectAfterMs: 1000 } as const;
const majority = { ...terms, quorum: 'majority' } as const;

/** Cuts all links between these agents and the rest of five agents. */
function cutOf(ids: readonly string[], more: Partial<Extract<Fault, { kind: 'cut' }>> = {}): Fault {
  const others = ['a1', 'a2', 'a3', 'a4', 'a5'].filter((id) => !ids.includes(id));
  const how = { bridged: false, ways: 'both', heldMsMax: 1000, forMs: 2000 } as const;
  return { kind: 'cut', ids, others, ...how, ...more };
}

function linkOf(ids: readonly string[], at: readonly string[], forMs = 500): Fault {
  const trouble = ids.length > 0 ? 'reset' : 'late';
  return { kind: 'link', ids, at, trouble, fault: {}, forMs };
}

test('storm: a crash excuses twice the threads, a long stall strays too, a command nothing', () => {
  const of = (...faults: Fault[]) => costsOf(faults, { threads: 8, suspectAfterMs: 1000 });
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

test('storm: no agent has two faults at once, and no more agents are away than allowed', () => {
  const kill = (id: string): Fault => ({ kind: 'kill', ids: [id], awayMs: 5 });
  assert.ok(mayBegin(kill('a1'), [], 1));
  assert.ok(!mayBegin(kill('a2'), [kill('a1')], 1));
  assert.ok(mayBegin(kill('a2'), [kill('a1')], 2));
  assert.ok(!mayBegin(kill('a1'), [kill('a1')], 2));
  assert.ok(!mayBegin(kill('a3'), [kill('a1'), kill('a2')], 2));
  assert.ok(mayBegin({ kind: 'seed', ids: [] }, [kill('a1')], 1), 'a seed takes none away');
});

test('storm: a fault that takes disks or all agents does not overlap with other faults', () => {
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

test('storm: a cut of about a lease costs a crash per cut-off agent, a shorter one nothing', () => {
  const of = (...faults: Fault[]) => costsOf(faults, { threads: 8, suspectAfterMs: 1000 });
  assert.deepEqual(of(cutOf(['a1', 'a2'])), { overlapMax: 32, strayMax: 0 });
  assert.deepEqual(of(cutOf(['a1'], { forMs: 400 })), { overlapMax: 0, strayMax: 0 });
  const bridged = cutOf(['a1'], { others: ['a2'], bridged: true });
  assert.deepEqual(of(bridged), { overlapMax: 0, strayMax: 0 });
});

test('storm: links that break off cost a crash per time-out, late links nothing', () => {
  const of = (...faults: Fault[]) => costsOf(faults, { threads: 8, suspectAfterMs: 1000 });
  assert.deepEqual(of(linkOf(['a1'], ['a1'], 900)), { overlapMax: 16, strayMax: 0 });
  assert.deepEqual(of(linkOf(['a1'], ['a1'], 2100)), { overlapMax: 48, strayMax: 0 });
  assert.deepEqual(of(linkOf([], ['a1', 'a2'], 2100)), { overlapMax: 0, strayMax: 0 });
});

test('storm: a failed disk costs a crash, as does a clock that jumps forward by a lease', () => {
  const of = (...faults: Fault[]) => costsOf(faults, { threads: 8, suspectAfterMs: 1000 });
  const disk: Fault = { kind: 'disk', ids: ['a1'], how: 'full', awayMs: 5 };
  const clock = (byMs: number): Fault => ({ kind: 'clock', ids: ['a1'], byMs });
  assert.deepEqual(of(disk), { overlapMax: 16, strayMax: 0 });
  assert.deepEqual(of(clock(60_000)), { overlapMax: 16, strayMax: 0 });
  assert.deepEqual(of(clock(-60_000), clock(400)), { overlapMax: 0, strayMax: 0 });
});

test('storm: both sides of a cut may crawl only under quorum none and after about a lease', () => {
  const bridged = cutOf(['a1'], { others: ['a2'], bridged: true });
  const short = cutOf(['a1'], { forMs: 400 });
  assert.equal(moreSides(cutOf(['a1']), terms), 1);
  assert.equal(moreSides(linkOf(['a1'], ['a1']), terms), 1);
  for (const calm of [bridged, short, linkOf([], ['a1'])]) {
    assert.equal(moreSides(calm, terms), 0);
    assert.equal(moreFetches(calm, terms), 0);
  }
  assert.equal(moreFetches(cutOf(['a1']), terms), 1);
  for (const fault of [cutOf(['a1']), cutOf(['a1', 'a2']), linkOf(['a1'], ['a1'])]) {
    assert.equal(moreSides(fault, majority), 0);
  }
});

test('storm: under a majority, a host may start anew only if all its copies may be cut off', () => {
  assert.equal(moreFetches(cutOf(['a1']), majority), 0);
  assert.equal(moreFetches(cutOf(['a1', 'a2']), majority), 1);
  assert.equal(moreFetches(cutOf(['a1', 'a2']), { ...majority, backups: 2 }), 0);
});

test('storm: copies must catch up before a disk is lost or an agent is cut off', () => {
  for (const fault of [
    { kind: 'wipe', ids: ['a1'], awayMs: 5 },
    cutOf(['a1']),
    linkOf(['a1'], ['a1']),
  ] as const satisfies Fault[]) {
    assert.ok(needsCopies(fault, terms) && needsCopies(fault, majority));
  }
  for (const fault of [
    { kind: 'kill', ids: ['a1'], awayMs: 5 },
    cutOf(['a1'], { forMs: 400 }),
    cutOf(['a1'], { others: ['a2'], bridged: true }),
    linkOf([], ['a1']),
  ] as const satisfies Fault[]) {
    assert.ok(!needsCopies(fault, terms));
  }
});

test('storm: a cut-off agent counts as away, and too large a cut runs alone', () => {
  const kill: Fault = { kind: 'kill', ids: ['a3'], awayMs: 5 };
  const seed: Fault = { kind: 'seed', ids: [] };
  assert.ok(!mayBegin(kill, [cutOf(['a1'])], 1));
  assert.ok(mayBegin(kill, [cutOf(['a1'])], 2));
  assert.ok(mayBegin(cutOf(['a1', 'a2']), [], 1));
  assert.ok(!mayBegin(cutOf(['a1', 'a2']), [seed], 1));
  assert.ok(!mayBegin(seed, [cutOf(['a1', 'a2'])], 1));
});

test('storm: no fault takes an agent away that a bridged cut needs as a relay', () => {
  const bridged = cutOf(['a1'], { others: ['a2'], bridged: true });
  const kill: Fault = { kind: 'kill', ids: ['a3'], awayMs: 5 };
  const seed: Fault = { kind: 'seed', ids: [] };
  assert.ok(!mayBegin(kill, [bridged], 2) && !mayBegin(bridged, [kill], 2));
  assert.ok(mayBegin(seed, [bridged], 2) && mayBegin(bridged, [seed], 2));
});

test('storm: allows no pause while agents are disconnected, and one link fault at a time', () => {
  const paused: Fault = { kind: 'pause', ids: [], forMs: 5 };
  for (const fault of [cutOf(['a1']), linkOf(['a1'], ['a1'])]) {
    assert.ok(!mayBegin(paused, [fault], 2) && !mayBegin(fault, [paused], 2));
  }
  const late = linkOf([], ['a1']);
  assert.ok(mayBegin(paused, [late], 2) && mayBegin(late, [paused], 2));
  assert.ok(!mayBegin(late, [late], 2));
});
