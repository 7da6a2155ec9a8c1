// The operator's directives as replicated state: copies are equal after merges in any order,
// grouping and number, and directives survive the process.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  DIRECTIVES_MAX,
  DIRECTIVES_SHOWN_MAX,
  type Directives,
} from '../../../../agent/core/protocol/directives.ts';
import type { Directive } from '../../../../agent/core/protocol/messages.ts';
import { isDirective } from '../../../../agent/messaging/checks/validate.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { DirectiveTable } from '../../../../agent/storage/tables/directive-table.ts';
import { agent, orders } from './directives-stage.ts';

function merged(...lists: (readonly Directive[])[]): Directives {
  const all = agent();
  for (const list of lists) all.merge(list, 0, 0);
  return all;
}

describe('directives: merging', () => {
  it('directives: a merge does not depend on the order of arrival', () => {
    fc.assert(
      fc.property(orders, orders, (a, b) => {
        assert.equal(merged(a, b).hash(), merged(b, a).hash());
      }),
    );
  });

  it('directives: a merge does not depend on the grouping on the way', () => {
    fc.assert(
      fc.property(orders, orders, orders, (a, b, c) => {
        const left = merged(merged(a, b).all(), c);
        const right = merged(a, merged(b, c).all());
        assert.equal(left.hash(), right.hash());
      }),
    );
  });

  it('directives: a repeated merge changes nothing', () => {
    fc.assert(
      fc.property(orders, (a) => {
        const once = merged(a);
        const before = once.hash();
        assert.deepEqual(once.merge(a, 0, 0).later, []);
        assert.equal(once.hash(), before);
      }),
    );
  });
});

describe('directives: meaning', () => {
  it('directives: a new directive is later than every received one', () => {
    fc.assert(
      fc.property(orders, fc.constantFrom('a0', 'a9'), (a, id) => {
        const here = agent(id);
        here.merge(a, 0, 0);
        const given = here.give({ kind: 'block', host: 'h1.test', value: 1 }, 0);
        assert.ok(given);
        const there = merged(a);
        there.merge([given], 0, 0);
        assert.equal(there.blocks('h1.test'), true);
      }),
    );
  });

  it('directives: pause, block and delay hold until they are taken back', () => {
    const a = agent();
    assert.deepEqual([a.paused, a.blocks('h'), a.delayOf('h')], [false, false, 100]);
    a.give({ kind: 'pause', host: '', value: 1 }, 0);
    a.give({ kind: 'block', host: 'h', value: 1 }, 0);
    a.give({ kind: 'delay', host: 'h', value: 0 }, 0);
    assert.deepEqual([a.paused, a.blocks('h'), a.delayOf('h')], [true, true, 0]);
    assert.deepEqual([a.blocks('other'), a.delayOf('other')], [false, 100]);
    a.give({ kind: 'pause', host: '', value: null }, 0);
    a.give({ kind: 'block', host: 'h', value: null }, 0);
    a.give({ kind: 'delay', host: 'h', value: null }, 0);
    assert.deepEqual([a.paused, a.blocks('h'), a.delayOf('h')], [false, false, 100]);
  });

  it('directives: threads for this agent come before those for all, until they are taken back', () => {
    const a = agent('a1');
    const give = (host: string, value: number | null) =>
      a.give({ kind: 'threads', host, value }, 0);
    assert.equal(a.threads, null);
    give('a2', 3);
    assert.equal(a.threads, null);
    give('a1', 4);
    give('*', 5);
    assert.equal(a.threads, 4);
    give('a1', null);
    assert.equal(a.threads, 5);
    give('*', null);
    assert.equal(a.threads, null);
  });

  it('directives: a capacity is that of the agent that it names', () => {
    const [a, b] = [agent('a1'), agent('a2')];
    const given = a.give({ kind: 'capacity', host: 'a2', value: 0.5 }, 0);
    b.merge([given!], 0, 0);
    assert.deepEqual([a.capacity, b.capacity], [null, 0.5]);
    b.give({ kind: 'capacity', host: 'a2', value: null }, 0);
    assert.equal(b.capacity, null);
  });

  it('directives: an agent is drained until it is taken back, whatever its capacity', () => {
    const a = agent('a1');
    a.give({ kind: 'drain', host: 'a1', value: 1 }, 0);
    a.give({ kind: 'capacity', host: 'a1', value: 2 }, 0);
    assert.deepEqual([a.drains('a1'), a.drains('a2')], [true, false]);
    a.give({ kind: 'drain', host: 'a1', value: null }, 0);
    assert.deepEqual([a.drains('a1'), a.capacity], [false, 2]);
  });

  it('directives: patterns match hosts as in the config, and the most specific one wins', () => {
    const a = agent();
    const give = (kind: 'block' | 'delay', host: string, value: number | null) =>
      a.give({ kind, host, value }, 0);
    give('block', '*.x.test', 1);
    assert.deepEqual(
      ['a.x.test', 'b.a.x.test', 'x.test', 'ax.test'].map((h) => a.blocks(h)),
      [...[true, true, false, false]],
    );
    give('delay', '*', 5);
    give('delay', '*.x.test', 6);
    give('delay', 'a.x.test', 7);
    assert.deepEqual(
      ['y.test', 'b.x.test', 'a.x.test'].map((h) => a.delayOf(h)),
      [5, 6, 7],
    );
    give('delay', 'a.x.test', null);
    give('delay', '*', null);
    assert.deepEqual(
      ['y.test', 'b.x.test', 'a.x.test'].map((h) => a.delayOf(h)),
      [100, 6, 6],
    );
  });

  it('directives: when one is taken back, reports what still blocks its hosts', () => {
    const a = agent();
    const off = (host: string) => a.above({ kind: 'block', host })?.host;
    a.give({ kind: 'block', host: '*.x.test', value: 1 }, 0);
    a.give({ kind: 'block', host: 'a.x.test', value: null }, 0);
    assert.deepEqual([a.blocks('a.x.test'), off('a.x.test')], [true, '*.x.test']);
    assert.equal(off('*.b.x.test'), '*.x.test');
    assert.equal(off('x.test'), undefined);
    assert.equal(a.unblocks('a.x.test'), false);
    a.give({ kind: 'block', host: '*.x.test', value: null }, 0);
    assert.deepEqual([a.unblocks('a.x.test'), a.unblocks('b.x.test')], [true, true]);
    assert.equal(a.unblocks('y.test'), false);
  });

  it('directives: limits new ones, but not changes of existing ones', () => {
    const a = agent();
    for (let k = 0; k < DIRECTIVES_MAX; k++) a.give({ kind: 'block', host: `h${k}`, value: 1 }, 0);
    assert.equal(a.give({ kind: 'block', host: 'more', value: 1 }, 0), null);
    assert.ok(a.give({ kind: 'pause', host: '', value: 1 }, 0));
    assert.deepEqual([a.paused, a.all().length], [true, DIRECTIVES_MAX]);
    assert.equal(a.blocks('h0'), false, 'the oldest is dropped');
    assert.ok(a.give({ kind: 'block', host: 'h1', value: null }, 0));
    assert.equal(a.blocks('h1'), false);
  });

  it('directives: every agent drops the same ones above the limit, delays first', () => {
    const flood = Array.from({ length: 3 * DIRECTIVES_MAX }, (_, k): Directive => {
      return { kind: 'delay', host: `h${k}`, value: 5, n: 3 + (k % 7), by: 'zz' };
    });
    const honest: Directive[] = [
      { kind: 'pause', host: '', value: 1, n: 1, by: 'a1' },
      { kind: 'block', host: 'x.test', value: 1, n: 2, by: 'a1' },
    ];
    const store = new DirectiveTable(openInMemory());
    const one = agent('a1', store);
    one.merge(honest, 0, 0);
    const refused = [0, 1, 2].map(
      (k) => one.merge(flood.slice(k * DIRECTIVES_MAX, (k + 1) * DIRECTIVES_MAX), 0, 0).refused,
    );
    assert.deepEqual(
      refused,
      [0, 1, 2].map(() => `there are more than ${DIRECTIVES_MAX} directives`),
    );
    const other = merged(flood.toReversed(), honest);
    assert.equal(one.all().length, DIRECTIVES_MAX);
    assert.equal(one.hash(), other.hash());
    assert.deepEqual([one.paused, one.blocks('x.test')], [true, true]);
    assert.equal(store.directives().length, DIRECTIVES_MAX);
    assert.equal(agent('a1', store).hash(), one.hash());
    assert.deepEqual(one.merge(flood, 0, 0).later, []);
  });

  it('directives: reduces a file with too many to the limit', () => {
    const store = new DirectiveTable(openInMemory());
    for (let k = 0; k < DIRECTIVES_MAX + 10; k++) {
      store.saveDirective({ kind: 'delay', host: `h${k}`, value: 5, n: k + 1, by: 'zz' }, 0);
    }
    assert.equal(agent('a1', store).all().length, DIRECTIVES_MAX);
    assert.equal(store.directives().length, DIRECTIVES_MAX);
  });

  it('directives: refuses a far too high number, so that every directive can be taken back', () => {
    const wall = Date.UTC(2026, 0);
    const a = agent();
    const n = 2 ** 40;
    const pause: Directive = { kind: 'pause', host: '', value: 1, n, by: 'zz' };
    const round: Directive = { kind: 'refresh', host: '', value: n, n, by: 'zz' };
    for (const far of [pause, round, { ...round, n: 5 }]) {
      const { later, refused } = a.merge([far], 0, wall);
      assert.deepEqual(later, []);
      assert.match(refused ?? '', /far above the number of any directive/);
    }
    assert.deepEqual([a.paused, a.round], [false, 0]);
    const today = Math.floor(wall / 1000);
    const honest: Directive = { kind: 'refresh', host: '', value: today, n: today, by: 'a2' };
    assert.deepEqual(a.merge([honest, { ...pause, n: today + 1 }], 0, wall).later.length, 2);
    const resumed = a.give({ kind: 'pause', host: '', value: null }, 0);
    assert.equal(isDirective(resumed), true);
    assert.equal(a.paused, false);
  });
});

it('directives: remembers this agent and the latest of the many agents that apply them', () => {
  const all = merged([{ kind: 'pause', host: '', value: 1, n: 1, by: 'a2' }]);
  for (let k = 0; k < 5000; k++) all.hasAll(`g${k}`);
  const applied = all.inForce()[0]!.applied;
  assert.equal(applied.length, 2000);
  assert.ok(applied.includes('a1') && applied.includes('g4999') && !applied.includes('g0'));
});

it('directives: of many in force, the list leaves out delays, and then blocks', () => {
  const pause = { kind: 'pause' as const, host: '', value: 1, n: 1, by: 'a2' };
  const drain = { kind: 'drain' as const, host: 'a2', value: 1, n: 2, by: 'a2' };
  const blocks = Array.from({ length: 60 }, (_, k): Directive => {
    return { kind: 'block', host: `b${k}.test`, value: 1, n: 3 + k, by: 'a2' };
  });
  const delays = Array.from({ length: 60 }, (_, k): Directive => {
    return { kind: 'delay', host: `d${k}.test`, value: 5, n: 100 + k, by: 'a2' };
  });
  const listed = merged([pause, drain, ...blocks, ...delays]).inForce();
  const names = listed.map(({ kind, host }) => `${kind} ${host}`);
  assert.equal(names.length, DIRECTIVES_SHOWN_MAX);
  assert.deepEqual(names.slice(-3), ['block b0.test', 'drain a2', 'pause ']);
  assert.deepEqual(
    names.slice(0, 38),
    delays
      .slice(-38)
      .map(({ host }) => `delay ${host}`)
      .reverse(),
  );
});
