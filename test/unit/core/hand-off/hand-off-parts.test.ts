// Single parts of the core whose behaviour a whole cluster would show only occasionally.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FetchRight, HELD_MAX } from '../../../../agent/core/hand-off/fetch-right.ts';
import { HandOff } from '../../../../agent/core/hand-off/hand-off.ts';
import { Outbound } from '../../../../agent/core/membership/outbound.ts';
import { FullView } from '../../../../agent/core/membership/overlay.ts';
import { RefusedClaims } from '../../../../agent/core/membership/refused-claims.ts';
import { type Member, View } from '../../../../agent/core/membership/view.ts';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';
import type { EventDetail } from '../../../../agent/core/protocol/event-log.ts';
import type { Envelope, Message, MessageType } from '../../../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../../../agent/core/protocol/settings.ts';
import type { RingMember } from '../../../../assignment/assignment.ts';
import { Lease } from '../../../../failure-detector/lease.ts';
import { Cluster, DELAY_MS, LEASE_MS, SUSPECT_MS } from '../../../simulation/cluster.ts';
import { THREADS } from '../../../simulation/process.ts';
import { chainWeb, denseWeb } from '../../../simulation/webs.ts';

const at = (mono: number) => ({ mono, wall: mono });

/**
 * A host belongs to the member whose name it starts with, or else to the first by name. Nobody knows
 * the owner of the host `unknown` before a second member is in view.
 */
function firstByName(members: readonly RingMember[]) {
  const ids = members.map((m) => m.id).sort();
  const order = (host: string, count = ids.length) =>
    [...ids]
      .sort((a, b) => Number(host.startsWith(b)) - Number(host.startsWith(a)))
      .slice(0, host === 'unknown' && ids.length < 3 ? 0 : count);
  return { owner: (host: string) => order(host, 1)[0], order };
}

function setting(id: string) {
  const settings = {
    id,
    capacity: 1,
    build: firstByName,
    digest: (text: string) => text,
    configured: [],
    quorum: 'none',
    heartbeatMs: 100,
    hostDelayMs: DELAY_MS,
    bounds: BOUNDS,
  } as unknown as CoreSettings;
  const effects = new Effects();
  const view = new View(settings);
  const outbound = new Outbound(settings, effects, view, new FullView());
  const told: { kind: string; detail: EventDetail }[] = [];
  const refused = new RefusedClaims({
    record: (_, kind, detail) => void told.push({ kind, detail }),
  });
  const handOff = new HandOff(settings, view, outbound, refused);
  const meet = (name: string): Member =>
    view.add(
      { id: name, inc: 1, capacity: 1, address: '', counter: 0, joined: true, direct: true },
      0,
    );
  const take = (): Message[] =>
    effects.take().flatMap((e) => (e.type === 'send' ? [(e.envelope as Envelope).message] : []));
  return { settings, view, outbound, handOff, meet, take, refused, told };
}

const READY = {
  isOpen: () => false,
  isGiven: () => true,
  waitLeftMs: () => 0,
  named: () => {},
  permitsMs: () => 0,
};

/** Backups that have all rows (`isSafe`), or none. */
function copies(isSafe: boolean, backups: readonly string[] = []) {
  const known = { isSafe: () => isSafe, isQuiet: true, targets: () => backups };
  return { ...known, lastNumber: () => 1, invalidate: () => {} };
}

function only<T extends MessageType>(messages: Message[], type: T) {
  return messages.filter((m): m is Extract<Message, { type: T }> => m.type === type);
}

describe('hand-off', () => {
  const many = Array.from({ length: 2500 }, (_, i) => `b/${i}`);

  it('sends each part of a long list until it is acknowledged, and only then yields', () => {
    const { handOff, meet, take } = setting('c');
    const b = meet('b');
    handOff.give('b', many, at(0));
    const parts: number[] = [];
    for (let now = 0; now < 40_000 && parts.length < 20; now += 25) {
      handOff.advance(READY, at(now));
      for (const m of take()) {
        if (m.type === 'YIELD') assert.deepEqual(new Set(parts), new Set([0, 1, 2]));
        if (m.type === 'YIELD') parts.length = 20;
        if (m.type !== 'LIST') continue;
        parts.push(m.part);
        assert.equal(m.last, m.part === 2);
        // The first acknowledgement of each part is lost.
        if (parts.filter((p) => p === m.part).length === 2) handOff.onListAck(b, m.list, m.part);
      }
    }
    assert.equal(parts.length, 20);
  });

  it('sends no part of a later list before all parts of an earlier one have arrived', () => {
    const { handOff, meet, take } = setting('c');
    const b = meet('b');
    handOff.give('b', ['b/1'], at(0));
    handOff.give('b', [], at(0));
    handOff.advance(READY, at(0));
    assert.deepEqual(
      only(take(), 'LIST').map((m) => m.list),
      [1],
    );
    handOff.onListAck(b, 1, 0);
    handOff.advance(READY, at(10));
    assert.deepEqual(
      only(take(), 'LIST').map((m) => m.list),
      [2],
    );
  });

  it('yields only hosts that have no open request and whose rows have arrived', () => {
    const { handOff, meet, take } = setting('c');
    const b = meet('b');
    handOff.give('b', ['b/1', 'b/2', 'b/3'], at(0));
    handOff.advance(READY, at(0));
    handOff.onListAck(b, 1, 0);
    take();
    const isOpen = (host: string) => host === 'b/1';
    const isGiven = (host: string) => host !== 'b/2';
    handOff.advance({ ...READY, isOpen, isGiven }, at(10));
    const [message] = only(take(), 'YIELD');
    assert.deepEqual(message?.items, [{ host: 'b/3', waitMs: 0 }]);
  });

  it('remembers a host that it withdrew while no owner was known, until it is listed again', () => {
    const { handOff, meet } = setting('c');
    const b = meet('b');
    handOff.give('b', ['unknown', 'b/1'], at(0));
    handOff.advance(READY, at(0));
    assert.equal(handOff.unplaced.has('unknown'), false);
    handOff.onListAck(b, 1, 0);
    handOff.advance(READY, at(10));
    assert.equal(handOff.isListed('unknown'), false);
    assert.deepEqual(
      ['unknown', 'b/1'].map((host) => handOff.unplaced.has(host)),
      [true, false],
    );
    handOff.unplaced.delete('unknown');
    handOff.advance(READY, at(1000));
    assert.equal(handOff.unplaced.has('unknown'), false, 'its rows may be gone');
    meet('a');
    handOff.give('a', ['unknown'], at(20));
    handOff.advance(READY, at(20));
    assert.equal(handOff.unplaced.has('unknown'), false);
  });

  it('lists a host again if its rows are refused after each YIELD', () => {
    const { handOff, meet, take } = setting('c');
    const b = meet('b');
    for (const list of [1, 2, 3]) {
      // While a list is open, the owner accepts the rows.
      for (let twice = 0; twice < 2; twice++) handOff.listToOwner('b/1', 'b', at(0));
      const now = at(list * 1000);
      handOff.advance({ ...READY, isGiven: () => list < 3 }, now);
      const named = only(take(), 'LIST').map((m) => m.list);
      assert.deepEqual(named, [list]);
      handOff.onListAck(b, list, 0);
      handOff.advance({ ...READY, isGiven: () => list < 3 }, now);
    }
    // The rows have arrived, so all lists are yielded, and acknowledged at last.
    handOff.advance(READY, at(9000));
    const lists = only(take(), 'YIELD').map((m) => m.list);
    assert.deepEqual(new Set(lists), new Set([1, 2, 3]));
  });

  it('answers a late copy of a list, which neither pays a debt nor makes hosts awaited', () => {
    const { handOff, meet, take } = setting('a');
    const b = meet('b');
    const list = { type: 'LIST', part: 0, hosts: ['a/1'], last: true, leavers: [] } as const;
    handOff.onList(b, { ...list, list: 1 }, at(0));
    handOff.forget('b');
    handOff.expectListFrom('b');
    take();
    assert.deepEqual(handOff.onList(b, { ...list, list: 1 }, at(10)), []);
    assert.equal(only(take(), 'LIST_ACK').length, 1);
    assert.deepEqual([handOff.owedAny(), handOff.awaits('a/1')], [true, false]);
    handOff.onList(b, { ...list, list: 2 }, at(20));
    assert.deepEqual([handOff.owedAny(), handOff.awaits('a/1')], [false, true]);
  });

  it('withdraws a host that now has another owner, and lists it there', () => {
    const { handOff, meet, take, view } = setting('c');
    const b = meet('b');
    handOff.give('b', ['x'], at(0));
    handOff.advance(READY, at(0));
    handOff.onListAck(b, 1, 0);
    take();
    meet('a');
    assert.equal(view.owner('x'), 'a');
    handOff.advance(READY, at(10));
    handOff.advance(READY, at(20));
    const sent = take();
    assert.deepEqual(only(sent, 'YIELD')[0]?.items, [{ host: 'x', waitMs: 0, withdrawn: true }]);
    assert.deepEqual(
      only(sent, 'LIST').map((m) => m.hosts),
      [['x']],
    );
  });

  it('treats a host as free only when every list that named it is closed', () => {
    const { handOff, meet } = setting('a');
    const [b, c] = [meet('b'), meet('c')];
    for (const from of [b, c]) {
      const list = { list: 1, part: 0, hosts: ['x'], last: true, leavers: [] } as const;
      handOff.onList(from, { type: 'LIST', ...list }, at(0));
    }
    handOff.onYield(b, { type: 'YIELD', list: 1, items: [{ host: 'x', waitMs: 5 }] }, copies(true));
    assert.equal(handOff.awaits('x'), true);
    handOff.forget('c');
    assert.equal(handOff.awaits('x'), false);
  });
});

describe('a yield', () => {
  function yielded() {
    const s = setting('a');
    const b = s.meet('b');
    const list = { list: 1, part: 0, hosts: ['x'], last: true, leavers: [] } as const;
    s.handOff.onList(b, { type: 'LIST', ...list }, at(0));
    s.handOff.onYield(
      b,
      { type: 'YIELD', list: 1, items: [{ host: 'x', waitMs: 0 }] },
      copies(false),
    );
    s.take();
    return { ...s, b };
  }

  it('frees the host at once, and is acknowledged when the backups have its rows', () => {
    const { handOff, take } = yielded();
    assert.equal(handOff.awaits('x'), false);
    handOff.answer(copies(false));
    assert.deepEqual(take(), []);
    assert.equal(handOff.isQuiet, false);
    handOff.answer(copies(true));
    assert.deepEqual(only(take(), 'YIELD_ACK')[0]?.items, [{ host: 'x', keep: false }]);
    assert.equal(handOff.isQuiet, true);
  });

  it('tells a giver that is a backup to keep its copy', () => {
    const { handOff, take } = yielded();
    handOff.answer(copies(true, ['b']));
    assert.deepEqual(only(take(), 'YIELD_ACK')[0]?.items, [{ host: 'x', keep: true }]);
  });

  it('reports each acknowledged host once, and whether its copy is kept', () => {
    const { handOff, meet, take } = setting('c');
    const b = meet('b');
    handOff.give('b', ['b/1', 'b/2'], at(0));
    handOff.advance(READY, at(0));
    handOff.onListAck(b, 1, 0);
    handOff.advance(READY, at(10));
    take();
    const items = [
      { host: 'b/1', keep: true },
      { host: 'b/2', keep: false },
      { host: 'b/3', keep: false },
    ];
    assert.deepEqual(handOff.onYieldAck(b, 1, items, at(10)), items.slice(0, 2));
    assert.deepEqual(handOff.onYieldAck(b, 1, items, at(10)), []);
  });

  it('refuses the acknowledgement of a host that was not yielded, so its copy stays', () => {
    const { handOff, meet, take, told } = setting('c');
    const b = meet('b');
    handOff.give('b', ['b/1'], at(0));
    const acked = [{ host: 'b/1', keep: false }];
    handOff.advance(READY, at(0));
    handOff.onListAck(b, 1, 0);
    handOff.advance({ ...READY, isGiven: () => false }, at(10));
    assert.deepEqual(handOff.onYieldAck(b, 1, acked, at(20)), []);
    assert.deepEqual(
      told.map(({ kind, detail }) => [kind, detail.agent, detail.claim]),
      [['refused', 'b', 'yield-ack']],
    );
    handOff.advance(READY, at(200));
    assert.equal(only(take(), 'YIELD').length, 1);
    assert.deepEqual(handOff.onYieldAck(b, 1, acked, at(210)), acked);
  });
});

describe('fetch right', () => {
  function rightOf(id: string) {
    const s = setting(id);
    const lease = new Lease({ leaseMs: LEASE_MS });
    const delay = { ms: DELAY_MS };
    const right = new FetchRight(s.settings, s.view, lease, s.handOff, () => delay.ms);
    right.reset(at(0));
    s.view.joined = true;
    return { ...s, lease, right, delay };
  }

  it('starts after a delay, or at once for a never fetched host in a stable view', () => {
    const { right } = rightOf('a');
    assert.deepEqual(right.check('x', at(5), true), { kind: 'wait', untilMs: 5 + DELAY_MS });
    assert.equal(right.check('y', at(100), true).kind, 'granted');
    assert.equal(right.check('z', at(100), false).kind, 'wait');
  });

  it('waits for the delay in force, and for a back-off even if the delay is shortened', () => {
    const { right, delay } = rightOf('a');
    right.check('x', at(100), true);
    right.delay('x', 200, DELAY_MS);
    right.delay('x', 150, DELAY_MS);
    delay.ms = 7;
    assert.deepEqual(right.check('x', at(203), false), { kind: 'wait', untilMs: 207 });
    assert.equal(right.waitLeftMs('x', at(203)), 4);
    delay.ms = 2;
    assert.equal(right.check('x', at(203), false).kind, 'granted');
    right.waitUntil('x', 230);
    assert.deepEqual(right.check('x', at(203), false), { kind: 'wait', untilMs: 230 });
    assert.equal(right.waitLeftMs('x', at(203)), 27);
  });

  it('needs the echo of the lease grantor, and lasts leaseMs from the heartbeat', () => {
    const { right, lease, meet } = rightOf('a');
    meet('b');
    assert.equal(right.check('x', at(100), true).kind, 'no-lease');
    lease.sent(1, at(100));
    lease.echoed('b', 1);
    assert.equal(right.check('x', at(99 + LEASE_MS), true).kind, 'granted');
    assert.equal(right.check('x', at(100 + LEASE_MS), true).kind, 'no-lease');
  });

  it('is forgotten for a host that was not fetched for long', () => {
    const { right } = rightOf('a');
    right.check('x', at(100), true);
    right.check('y', at(100), true);
    for (let n = 0; n < HELD_MAX; n++) {
      assert.equal(right.check(`h${n}`, at(100), true).kind, 'granted');
      assert.equal(right.check('x', at(100), false).kind, 'granted');
    }
    assert.equal(right.holds('y', at(100)), false);
    assert.equal(right.check('y', at(100), false).kind, 'wait');
  });

  it('does not return by itself with a host that another agent owned in between', () => {
    const { right, view, meet } = rightOf('b');
    right.check('x', at(100), true);
    assert.equal(right.holds('x', at(100)), true);
    meet('a');
    right.viewChanged();
    view.delete('a');
    right.viewChanged();
    assert.equal(right.holds('x', at(101)), false);
    assert.equal(right.check('x', at(101), false).kind, 'wait');
    right.pump(at(102));
    right.pump(at(102));
    assert.equal(right.check('x', at(101 + DELAY_MS), false).kind, 'granted');
  });
});

describe('a kill', () => {
  it('costs the open requests and as many pages as there are threads', () => {
    const c = new Cluster({
      ids: ['a1', 'a2'],
      web: denseWeb(12, 30),
      seeds: ['http://h0.test/p0'],
      delayMs: 1,
    });
    c.startAll();
    c.runUntil('the crawl is running', () => c.log.length >= 100);
    // The rows of a1 are lost, and all other messages arrive.
    c.lose = (from, _, { type }) => from === 'a1' && type === 'ROWS';
    const since = c.now;
    c.run(SUSPECT_MS / 5);
    const fetched = c.log.filter((v) => v.by === 'a1' && v.whole && v.end > since);
    const pages = fetched.filter((v) => !v.url.endsWith('/robots.txt'));
    assert.ok(pages.length > 0 && pages.length <= 2 * THREADS, `${pages.length} pages`);
  });
});

describe('routing', () => {
  it('does not answer a batch to a later incarnation of its sender', () => {
    const web = chainWeb(20, 20);
    const c = new Cluster({ ids: ['a1', 'a2', 'a3'], web, seeds: ['http://h0.test/p0'] });
    c.startAll();
    c.runUntil('the crawl is running', () => c.log.length >= 40);
    c.kill('a3');
    // a3 meets the others, but cannot join before it has the list that is lost.
    c.lose = (from, to, { type }) => from === 'a2' && to === 'a3' && type === 'LIST';
    c.start('a3');
    c.runUntil('a batch waits for the join', () => {
      return c.sent.some((s) => s.from === 'a1' && s.to === 'a3' && s.message.type === 'URLS');
    });
    c.kill('a1');
    c.start('a1');
    c.run(0.5 * SUSPECT_MS);
    c.lose = () => false;
    c.runToEnd();
    assert.equal(c.fetched().size, 400);
  });
});
