// The owner's side of address permits by itself: which agent gets a permit, when and for how long,
// and the effect of late, lost and repeated messages. At the end, random clients that keep to their
// grants use a network that loses and delays messages.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type Asker,
  type PermitGrant,
  PermitGrants,
} from '../../../../agent/core/budgets/permit-grants.ts';
import type { View } from '../../../../agent/core/membership/view.ts';

const at = (mono: number) => ({ mono, wall: mono });
const IP = '192.0.2.1';
const IP_DELAY_MS = 1000;
/** With heartbeats of 100 ms, messages are resent after 50 ms; a grant lasts four times as long. */
const HEARTBEAT_MS = 100;
const GRANT_MS = 200;
/** Without a further message, a permit counts as used for this long. */
const USED_MS = 1.5 * GRANT_MS;

const a2: Asker = { id: 'a2', inc: 1 };
const a3: Asker = { id: 'a3', inc: 1 };

interface Granted extends Asker {
  readonly grant: PermitGrant;
  readonly atMs: number;
}

function granter(refuses = false) {
  const state = { owns: true, leaseLeftMs: Infinity, settledIn: true, gone: new Set<string>() };
  const granted: Granted[] = [];
  const grants = new PermitGrants({
    settings: { heartbeatMs: HEARTBEAT_MS, ipDelayMs: IP_DELAY_MS },
    view: { owns: () => state.owns } as unknown as View,
    leaseLeftMs: () => state.leaseLeftMs,
    isSettledIn: () => state.settledIn,
    refuses,
    isHere: ({ id }) => !state.gone.has(id),
    answer: ({ id, inc }, grant, now) => granted.push({ id, inc, grant, atMs: now.mono }),
  });
  const ask = (asker: Asker, slot: number, nowMs: number, n = slot) =>
    grants.onAsk(asker, { address: IP, slot, ask: n }, at(nowMs));
  const end = (asker: Asker, slot: number, nowMs: number, agoMs = 0) =>
    grants.onEnd(asker, { address: IP, slot, agoMs }, at(nowMs));
  /** The grants since the last call: agent, permit and time. */
  const take = () => granted.splice(0).map(({ id, grant, atMs }) => `${id} ${grant.slot} ${atMs}`);
  /** Advances the time as the core does, with a pump whenever one is due. */
  const pass = (untilMs: number) => {
    for (let next = grants.nextAtMs(); next <= untilMs; next = grants.nextAtMs()) {
      grants.pump(at(next));
    }
  };
  return { state, grants, granted, ask, end, take, pass };
}

describe('permit grants', () => {
  it('grants one permit at a time, and the next a delay after the end of the last', () => {
    const { ask, end, take, pass } = granter();
    ask(a2, 1, 0);
    ask(a3, 1, 10);
    assert.deepEqual(take(), ['a2 1 0']);
    end(a2, 1, 100);
    pass(99 + IP_DELAY_MS);
    assert.deepEqual(take(), []);
    pass(100 + IP_DELAY_MS);
    assert.deepEqual(take(), ['a3 1 1100']);
  });

  it('an agent that does not own the address refuses it in a partial view, else is silent', () => {
    for (const refuses of [true, false]) {
      const { state, granted, ask } = granter(refuses);
      state.owns = false;
      ask(a2, 1, 0);
      assert.deepEqual(
        granted.map(({ id, grant }) => [id, grant.forMs]),
        refuses ? [['a2', 0]] : [],
      );
    }
  });

  it('the cooldown starts when the request ended, not when the message arrived', () => {
    const { ask, end, take, pass } = granter();
    ask(a2, 1, 0);
    ask(a3, 1, 10);
    end(a2, 1, 150, 60);
    pass(5000);
    assert.deepEqual(take(), ['a2 1 0', 'a3 1 1090']);
  });

  it('addresses are independent of one another', () => {
    const { grants, granted, ask } = granter();
    ask(a2, 1, 0);
    grants.onAsk(a3, { address: '192.0.2.2', slot: 7, ask: 7 }, at(1));
    assert.deepEqual(
      granted.map(({ id }) => id),
      ['a2', 'a3'],
    );
  });

  it('serves agents in the order of their requests, with one place each', () => {
    const { ask, end, take, pass } = granter();
    ask(a2, 1, 0);
    ask(a3, 1, 1);
    ask(a3, 1, 60, 2);
    ask({ id: 'a4', inc: 1 }, 1, 70);
    end(a2, 1, 80);
    ask(a2, 2, 81);
    pass(80 + IP_DELAY_MS);
    end(a3, 1, 1100);
    pass(1100 + IP_DELAY_MS);
    assert.deepEqual(take(), ['a2 1 0', 'a3 1 1080', 'a4 1 2100']);
  });

  it('renews a permit as long as its holder requests it', () => {
    const { ask, take, pass, granted } = granter();
    ask(a2, 1, 0);
    ask(a3, 1, 1);
    for (let t = 50; t <= 5000; t += 50) {
      ask(a2, 1, t, t);
      pass(t);
    }
    assert.ok(granted.every(({ id, grant }) => id === 'a2' && grant.forMs === GRANT_MS));
    assert.equal(granted.at(-1)?.grant.ask, 5000, 'a grant names the request that it answers');
    take();
    pass(5000 + USED_MS + IP_DELAY_MS);
    assert.deepEqual(take(), ['a3 1 6300'], 'used for one and a half grants, then the delay');
  });

  it('a permit ends by itself if its holder sends nothing more', () => {
    const { ask, take, pass } = granter();
    ask(a2, 1, 0);
    ask(a3, 1, 0);
    take();
    pass(USED_MS + IP_DELAY_MS - 1);
    assert.deepEqual(take(), []);
    pass(USED_MS + IP_DELAY_MS);
    assert.deepEqual(take(), ['a3 1 1300']);
  });

  it('a late end of an expired permit does not end the permit of another agent', () => {
    const { ask, end, take, pass } = granter();
    ask(a2, 1, 0);
    ask(a3, 1, 0);
    pass(USED_MS + IP_DELAY_MS);
    ask(a2, 2, 1310);
    take();
    end(a2, 1, 1320);
    end(a2, 1, 1330, 1000);
    end({ id: 'a3', inc: 2 }, 1, 1340);
    end(a3, 2, 1350);
    pass(1400);
    assert.deepEqual(take(), [], 'a3 still has its permit');
    end(a3, 1, 1400);
    pass(1400 + IP_DELAY_MS);
    assert.deepEqual(take(), ['a2 2 2400']);
  });

  it('repeated and late ends do not shorten the cooldown', () => {
    const { ask, end, take, pass } = granter();
    ask(a2, 1, 0);
    end(a2, 1, 100);
    end(a2, 1, 200, 190);
    ask(a3, 1, 210);
    pass(5000);
    assert.deepEqual(take(), ['a2 1 0', 'a3 1 1100']);
  });

  it('a request for a later permit ends the last one; one for an older permit does not', () => {
    const { ask, take, pass } = granter();
    ask(a2, 5, 0);
    ask(a2, 4, 20);
    assert.deepEqual(take(), ['a2 5 0']);
    ask(a2, 6, 100);
    assert.deepEqual(take(), [], 'the cooldown comes first');
    pass(100 + IP_DELAY_MS);
    assert.deepEqual(take(), ['a2 6 1100']);
  });

  it('skips requests that were withdrawn or whose agent was removed', () => {
    const { ask, end, take, pass, state } = granter();
    const a4: Asker = { id: 'a4', inc: 1 };
    ask(a2, 1, 0);
    for (const asker of [a3, a4]) ask(asker, 1, 1);
    ask({ id: 'a5', inc: 1 }, 1, 2);
    end(a3, 1, 50);
    state.gone.add('a4');
    end(a2, 1, 100);
    pass(100 + IP_DELAY_MS);
    assert.deepEqual(take(), ['a2 1 0', 'a5 1 1100']);
  });
});

describe('permit grants and the lease', () => {
  it('every grant ends before the lease, with a margin', () => {
    const { ask, granted, state } = granter();
    state.leaseLeftMs = 100;
    ask(a2, 1, 0);
    assert.equal(granted[0]?.grant.forMs, 70);
  });

  it('grants nothing without a lease, or before all lists have arrived', () => {
    for (const lack of [{ leaseLeftMs: 0 }, { leaseLeftMs: 30 }, { settledIn: false }]) {
      const { ask, take, pass, state } = granter();
      Object.assign(state, lack);
      ask(a2, 1, 0);
      pass(500);
      assert.deepEqual(take(), [], JSON.stringify(lack));
      Object.assign(state, { leaseLeftMs: Infinity, settledIn: true });
      pass(600);
      assert.deepEqual(take(), ['a2 1 525']);
    }
  });

  it('a renewal on a short lease does not shorten the grant before it', () => {
    const { ask, take, pass, state } = granter();
    ask(a2, 1, 0);
    state.leaseLeftMs = 10;
    ask(a2, 1, 50);
    state.leaseLeftMs = Infinity;
    ask(a3, 1, 60);
    take();
    pass(5000);
    assert.deepEqual(take(), ['a3 1 1300']);
  });
});

describe('permit grants when owners change', () => {
  it('grants no addresses that other agents own', () => {
    const { ask, take, pass, state } = granter();
    state.owns = false;
    ask(a2, 1, 0);
    pass(5000);
    assert.deepEqual(take(), []);
  });

  it('an address that returns waits for permits that were granted before', () => {
    const { ask, take, pass, state, grants } = granter();
    ask(a2, 1, 0);
    state.owns = false;
    grants.viewChanged();
    assert.equal(grants.busyMs(at(100)), USED_MS + IP_DELAY_MS - 100);
    state.owns = true;
    ask(a3, 1, 110);
    take();
    pass(USED_MS + IP_DELAY_MS - 1);
    assert.deepEqual(take(), []);
    pass(USED_MS + IP_DELAY_MS);
    assert.deepEqual(take(), ['a3 1 1300']);
  });

  it('a new incarnation waits for the permits that the last one granted', () => {
    const { ask, take, pass, grants } = granter();
    ask(a2, 1, 0);
    grants.reset(at(10));
    ask(a3, 1, 20);
    take();
    pass(5000);
    assert.deepEqual(take(), ['a3 1 1300']);
  });

  it('a reported permit in use delays known and unknown addresses', () => {
    const { ask, end, take, pass, grants } = granter();
    ask(a2, 1, 0);
    grants.restAll(3000);
    end(a2, 1, 10);
    ask(a3, 1, 20);
    grants.onAsk(a3, { address: '192.0.2.2', slot: 2, ask: 2 }, at(30));
    take();
    pass(2999);
    assert.deepEqual(take(), []);
    assert.equal(grants.busyMs(at(2000)), 1000);
    pass(3000);
    assert.deepEqual(take(), ['a3 1 3000', 'a3 2 3000']);
  });

  it('forgets addresses that are not in use', () => {
    const { ask, end, pass, grants } = granter();
    ask(a2, 1, 0);
    end(a2, 1, 10);
    pass(10 + IP_DELAY_MS);
    grants.pump(at(10 + IP_DELAY_MS));
    assert.equal(grants.busyMs(at(10 + IP_DELAY_MS)), 0);
    assert.equal(grants.nextAtMs(), Infinity);
  });
});

// ---- random clients that keep to their grants

/** Delivers a message after `travelMs`, with its time of arrival. */
type Post = (travelMs: number, deliver: (nowMs: number) => void) => void;

/** An agent that uses its permit from the grant until it stops or the grant expires. */
class Client {
  readonly uses: { readonly from: number; to: number }[] = [];
  readonly #me: Asker;
  readonly #grants: PermitGrants;
  readonly #post: Post;
  readonly #sentAt = new Map<number, number>();
  #slot = 0;
  #isOpen = false;
  #use: { readonly from: number; to: number } | null = null;

  constructor(id: string, grants: PermitGrants, post: Post) {
    this.#me = { id, inc: 1 };
    this.#grants = grants;
    this.#post = post;
  }

  /** Requests a permit, or the renewal of the permit in use. */
  want(nowMs: number, travelMs: number): void {
    this.#expire(nowMs);
    if (!this.#isOpen) this.#slot++;
    this.#isOpen = true;
    const [slot, ask] = [this.#slot, this.#sentAt.size];
    this.#sentAt.set(ask, nowMs);
    this.#post(travelMs, (ms) => {
      this.#grants.onAsk(this.#me, { address: IP, slot, ask }, at(ms));
    });
  }

  onGrant({ slot, ask, forMs }: PermitGrant, nowMs: number): void {
    this.#expire(nowMs);
    const until = this.#sentAt.get(ask)! + forMs;
    if (!this.#isOpen || slot !== this.#slot || until <= nowMs) return;
    if (this.#use) this.#use.to = Math.max(this.#use.to, until);
    else {
      this.#use = { from: nowMs, to: until };
      this.uses.push(this.#use);
    }
  }

  /** Ends its request; `travelMs` null: the message is lost. */
  stop(nowMs: number, travelMs: number | null): void {
    this.#expire(nowMs);
    if (!this.#isOpen) return;
    if (this.#use) this.#use.to = nowMs;
    this.#use = null;
    this.#isOpen = false;
    const slot = this.#slot;
    if (travelMs === null) return;
    this.#post(travelMs, (ms) => {
      this.#grants.onEnd(this.#me, { address: IP, slot, agoMs: ms - nowMs }, at(ms));
    });
  }

  /** Aborts a request whose grant expired; its permit is not requested again. */
  #expire(nowMs: number): void {
    if (!this.#use || this.#use.to > nowMs) return;
    this.#use = null;
    this.#isOpen = false;
  }
}

interface Step {
  readonly kind: 'want' | 'stop' | 'lost';
  readonly who: number;
  /** The time from the step before; and `travelMs`, the delay of messages from then on. */
  readonly afterMs: number;
  readonly travelMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('want', 'want', 'want', 'stop', 'lost'),
  who: fc.nat(2),
  afterMs: fc.oneof(fc.nat(60), fc.nat(600)),
  travelMs: fc.oneof(fc.nat(20), fc.nat(500)),
});

function usesUnder(steps: readonly Step[], delayMs: number): Client['uses'] {
  let travelMs = 0;
  const posted: { readonly atMs: number; readonly deliver: (nowMs: number) => void }[] = [];
  const post = (nowMs: number) => (ms: number, deliver: (nowMs: number) => void) =>
    posted.push({ atMs: nowMs + ms, deliver });
  let nowMs = 0;
  const clients = new Map<string, Client>();
  const grants: PermitGrants = new PermitGrants({
    settings: { heartbeatMs: HEARTBEAT_MS, ipDelayMs: delayMs },
    view: { owns: () => true } as unknown as View,
    leaseLeftMs: () => Infinity,
    isSettledIn: () => true,
    refuses: false,
    isHere: () => true,
    answer: ({ id }, grant, now) =>
      post(now.mono)(travelMs, (ms) => clients.get(id)!.onGrant(grant, ms)),
  });
  for (const id of ['a1', 'a2', 'a3']) {
    clients.set(id, new Client(id, grants, (ms, deliver) => post(nowMs)(ms, deliver)));
  }
  const runUntil = (untilMs: number) => {
    for (;;) {
      posted.sort((a, b) => a.atMs - b.atMs);
      const word = posted[0]?.atMs ?? Infinity;
      const pump = grants.nextAtMs();
      if (Math.min(word, pump) > untilMs) break;
      nowMs = Math.max(nowMs, Math.min(word, pump));
      if (word <= pump) posted.shift()!.deliver(nowMs);
      else grants.pump(at(nowMs));
    }
    nowMs = untilMs;
  };
  for (const { kind, who, afterMs, travelMs: next } of steps) {
    runUntil(nowMs + afterMs);
    travelMs = next;
    const client = clients.get(`a${who + 1}`)!;
    if (kind === 'want') client.want(nowMs, travelMs);
    else client.stop(nowMs, kind === 'lost' ? null : travelMs);
  }
  runUntil(nowMs + 2000);
  return [...clients.values()].flatMap(({ uses }) => uses).sort((a, b) => a.from - b.from);
}

describe('permit grants with random clients', () => {
  it('no two requests overlap, and the delay is kept between them', () => {
    let uses = 0;
    const schedule = fc.array(step, { minLength: 10, maxLength: 60 });
    fc.assert(
      fc.property(schedule, fc.constantFrom(20, 200, 1000), (steps, delayMs) => {
        const seen = usesUnder(steps, delayMs);
        uses += seen.length;
        for (const [k, { from }] of seen.entries()) {
          const last = seen[k - 1];
          if (last) assert.ok(from - last.to >= delayMs, JSON.stringify([last, seen[k]]));
        }
      }),
      { numRuns: 2000, seed: 30 },
    );
    assert.ok(uses > 4000, `${uses} permits were used`);
  });
});
