// An agent that cannot join warns, and ends after a time.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JoinWait } from '../../../../agent/core/lifecycle/join-wait.ts';
import type { Entries } from '../../../../agent/core/membership/overlay.ts';
import type { End } from '../../../../agent/core/protocol/effects.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';
import { partialView, viewStage } from '../membership/overlay-stage.ts';

const contacts = ['tcp://h:1', 'tcp://h:2'];

interface Stage {
  readonly first?: boolean;
  readonly awaited?: string[];
  readonly entries?: Partial<Entries>;
}

function stageOf(ids: readonly string[] = [], more: Stage = {}) {
  const { settings, view, members } = viewStage(ids, { suspectAfterMs: 10_000 });
  const membership = { postponedAt: -Infinity, awaited: more.awaited ?? [] };
  for (const member of members) member.joined = false;
  const effects = new Effects();
  const ends: Omit<End, 'left'>[] = [];
  const wait = new JoinWait({
    ...{ settings, view, effects },
    overlay: partialView({
      mayBeFirst: more.first ?? false,
      entries: {
        ...{ contacts, others: ['tcp://h:3'], local: [], namesake: null, noteNamesake() {} },
        ...more.entries,
      },
    }),
    membership,
    shutdown: { end: (code, reason) => void ends.push({ code, reason }) },
  });
  wait.reset({ mono: 0, wall: 0 });
  /** Turns until the time; returns the seconds at which it warned, and the last warning. */
  const until = (seconds: number, from = 0) => {
    const warnedAt: number[] = [];
    let last = '';
    for (let mono = from * 1000; mono < seconds * 1000; mono += 100) {
      wait.goesOn({ mono, wall: mono });
      for (const effect of effects.take()) {
        if (effect.type !== 'warn') continue;
        warnedAt.push(mono / 1000);
        last = effect.message;
      }
      if (ends.length > 0) break;
    }
    return { warnedAt, last };
  };
  const codes = () => ends.map(({ code }) => code);
  return { wait, until, ends, codes, view, members, membership, effects };
}

describe('an agent that meets nobody', () => {
  it('says at growing intervals where it asked, and what to do', () => {
    const { until, wait } = stageOf();
    assert.deepEqual(until(5), { warnedAt: [], last: '' });
    assert.equal(wait.reason, null);
    const { warnedAt, last } = until(60, 5);
    assert.deepEqual(warnedAt, [5, 10, 20, 40]);
    for (const part of [
      /^has not joined: no agent answers at tcp:\/\/h:1, tcp:\/\/h:2, nor at 1 other known address:/,
      /start one of these contacts, or correct cluster\.contacts/,
      /if the crawl is over \(ubiring status CONFIG where it ran\), there is nothing to join$/,
    ]) {
      assert.match(last, part);
    }
    assert.equal(last, wait.reason);
  });

  it('says that the agent which answers has its own identifier, or is itself', () => {
    const twin = stageOf([], { entries: { namesake: 'tcp://h:1' } }).until(9).last;
    assert.match(
      twin,
      /another agent me runs at tcp:\/\/h:1: stop that one, or start this one with/,
    );
    const self = stageOf([], { entries: { namesake: 'tcp://me' } }).until(9).last;
    assert.match(
      self,
      /is this agent itself: write its address in cluster.contacts as tcp:\/\/me,/,
    );
  });

  it('ends with 5 after a minute, as it cannot form a cluster', () => {
    const { until, ends } = stageOf();
    until(100);
    assert.equal(ends.length, 1);
    assert.equal(ends[0]!.code, 5);
    assert.match(ends[0]!.reason, /^waited 60 s: no agent answers at tcp:\/\/h:1, .*: start one/);
  });

  it('waits as long as others have no room for it', () => {
    const { until, ends, wait, membership } = stageOf();
    membership.postponedAt = 50_000;
    assert.equal(until(59).last, wait.reason);
    assert.match(wait.reason ?? '', /so many agents join that it must wait/);
    until(109, 59);
    assert.deepEqual(ends, []);
    until(111, 109);
    assert.equal(ends.length, 1);
  });

  it('waits for ever if it has joined before: its network may be back later', () => {
    const { until, ends, wait } = stageOf();
    wait.joined();
    wait.reset({ mono: 0, wall: 0 });
    const { warnedAt } = until(4000);
    assert.deepEqual(ends, []);
    const gaps = warnedAt.slice(1).map((at, k) => at - warnedAt[k]!);
    assert.deepEqual(gaps, [5, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600]);
  });

  it('says nothing if it may begin a cluster', () => {
    const { until, ends } = stageOf([], { first: true });
    assert.deepEqual(until(200).warnedAt, []);
    assert.deepEqual(ends, []);
  });
});

describe('an agent that meets others', () => {
  it('says that they wait as well, after contacts had time to begin', () => {
    const { until, ends } = stageOf(['b', 'a']);
    const { warnedAt, last } = until(200);
    assert.deepEqual(warnedAt[0], 20);
    assert.match(last, /: a, b wait, too: only a contact begins a cluster; if the crawl is over /);
    assert.match(last, / there is nothing to join; otherwise start one of tcp:\/\/h:1, tcp/);
    assert.match(last, /none can be started, add the address of one .* and restart that agent$/);
    assert.deepEqual(ends, [], 'they may be slow');
  });

  it('says nothing while it joins, and its minute begins when it has lost all', () => {
    const { until, codes, view, members, wait } = stageOf(['a']);
    until(30);
    assert.notEqual(wait.reason, null);
    members[0]!.joined = true;
    assert.deepEqual(until(50, 30).warnedAt, []);
    assert.equal(wait.reason, null);
    view.delete('a');
    until(109, 50);
    assert.deepEqual(codes(), []);
    until(111, 109);
    assert.deepEqual(codes(), [5]);
  });
});

it('an agent that must meet others ends with 5 after a minute without one of them', () => {
  const { until, ends, codes } = stageOf(['a'], { first: true, awaited: ['a9'] });
  until(59.9);
  assert.deepEqual(codes(), []);
  until(61, 59.9);
  assert.match(ends.at(0)!.reason, /^a9 did not join within 60 s/);
});

describe('an agent that may join', () => {
  const local = [{ id: 'n1', address: 'tcp://h:8' }];
  const saidBy = (ids: readonly string[], entries: Partial<Entries>) => {
    const { wait, effects } = stageOf(ids, { first: true, entries });
    wait.joined();
    return effects.take().flatMap((effect) => (effect.type === 'note' ? [effect.message] : []));
  };

  it('says how many agents it knows', () => {
    assert.deepEqual(saidBy(['a', 'b'], {}), ['has joined; other agents in view: 2']);
  });

  it('says that it begins a cluster, and why', () => {
    const remedy = 'add the address of one of them to cluster.contacts, and start it again';
    const rest = `; if agents of this crawl run elsewhere, stop this agent, ${remedy}`;
    assert.deepEqual(saidBy([], { contacts: [], others: [] }), [
      `begins a new cluster: its own address is the only contact${rest}`,
    ]);
    assert.deepEqual(saidBy([], {}), [
      `begins a new cluster: no agent answers at ${contacts.join(', ')}, 1 known address${rest}`,
    ]);
  });

  it('begins no second cluster beside agents of its data directory', () => {
    const { wait, ends } = stageOf([], { first: true, entries: { local } });
    assert.equal(wait.mayJoin(), false);
    assert.deepEqual(
      ends.map(({ code }) => code),
      [5],
    );
    assert.match(ends[0]!.reason, /^would begin a second cluster: n1 runs in the same data dir/);
  });

  it('joins beside them if it has a member, or has joined before', () => {
    const met = stageOf(['a'], { first: true, entries: { local } });
    assert.equal(met.wait.mayJoin(), true);
    const late = stageOf([], { first: true, entries: { local } });
    late.wait.joined();
    assert.equal(late.wait.mayJoin(), true);
    assert.deepEqual([...met.ends, ...late.ends], []);
  });
});
