// Agents at addresses that are not in the config of the others. Honest agents join as soon as they
// have answered there, and no agent can replace a living member.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BOUNDS } from '../../../agent/core/protocol/bounds.ts';
import type { AgentId, Envelope, Message } from '../../../agent/core/protocol/messages.ts';
import { cluster, crawling, endCodes, heartbeats, inc, sentOf } from '../case-kit.ts';
import { type Cluster, LEASE_MS, SUSPECT_MS } from '../cluster.ts';
import { HEARTBEAT_MS } from '../process.ts';

const HELLO = { type: 'HELLO', capacity: 1, fingerprint: 'same', n: 0 } as const;
const MANY = 30;
/** An address without an agent, controlled by the sender of false claims. */
const EVIL = 'tcp://192.0.2.9:1';

/** The config of all agents except the last describes a cluster without the last one. */
function unconfigured(ids: readonly AgentId[], more = {}): Cluster {
  const known = ids.slice(0, -1);
  const settings = (id: AgentId) =>
    known.includes(id)
      ? { configured: known.map((name) => ({ id: name, address: `ipc://sim/${name}` })) }
      : {};
  const c = cluster(ids, { settings, ...more });
  c.places.move(ids.at(-1)!);
  for (const id of known) c.start(id);
  c.runUntil('the crawl is running', () => c.log.length >= 60);
  return c;
}

function addressOf(c: Cluster, id: AgentId, at: AgentId): string | undefined {
  return c.snapshot(at).members.find((member) => member.id === id)?.address;
}

function assertWhole(c: Cluster): void {
  assert.deepEqual(new Set(endCodes(c)), new Set([0]));
  assert.equal(c.fetched().size, 1200);
  assert.deepEqual(c.impolite(), []);
}

const names = (c: Cluster, at: AgentId) => c.snapshot(at).members.map(({ id }) => id);

/** Sends HELLO repeatedly as `as`. The sender can answer probes at its claimed address. */
function claims(
  c: Cluster,
  as: { id: AgentId; inc: number },
  address: string,
  { answers = true, capacity = 1 } = {},
) {
  const say = (to: AgentId, more: Partial<Extract<Message, { type: 'HELLO' }>> = {}) => {
    const message = { ...HELLO, capacity, address, ...more };
    c.deliver(to, { from: as, to: { id: to, inc: 0 }, message });
  };
  const heard: Envelope[] = [];
  c.astray = (at, envelope) => {
    if (at !== address) return;
    heard.push(envelope);
    const { message, from } = envelope;
    if (answers && message.type === 'PROBE') say(from.id, { proof: message.nonce });
  };
  const from = c.now;
  for (let ms = 0; ms < 3 * SUSPECT_MS; ms += HEARTBEAT_MS) {
    c.at(from + ms, () => {
      for (const { id } of c.living()) if (id !== as.id) say(id);
    });
  }
  return heard;
}

const typesOf = (heard: readonly Envelope[]) => new Set(heard.map(({ message }) => message.type));

describe('addresses outside the config', () => {
  it('an agent joins after it has answered a probe', () => {
    const c = unconfigured(['a1', 'a2', 'a3']);
    c.start('a3');
    const startedAt = c.now;
    c.runUntil('a3 has joined', () => c.snapshot('a3').joined, 10_000);
    assert.ok(c.now - startedAt < SUSPECT_MS, `${c.now - startedAt} ms`);
    assert.equal(addressOf(c, 'a3', 'a1'), 'tcp://sim/a3/1');
    assert.deepEqual(new Set(sentOf(c, 'PROBE').map(({ to }) => to)), new Set(['a3']));
    c.runToEnd();
    assertWhole(c);
  });

  it('an agent joins although another process claims its address continuously', () => {
    const c = unconfigured(['a1', 'a2', 'a3']);
    const address = c.places.of('a3');
    for (let ms = 0; ms < SUSPECT_MS; ms += 5) {
      c.at(c.now + ms, () => {
        const from = { id: 'a9', inc: 1 };
        for (const id of ['a1', 'a2']) {
          c.deliver(id, { from, to: { id, inc: 0 }, message: { ...HELLO, address } });
        }
      });
    }
    c.run(HEARTBEAT_MS);
    c.start('a3');
    c.run(SUSPECT_MS / 2);
    assert.deepEqual(names(c, 'a1'), ['a2', 'a3']);
    c.runToEnd();
    assertWhole(c);
  });

  it('no agent sends probes to addresses in the config', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    assert.deepEqual(sentOf(c, 'PROBE'), []);
  });

  it('an unreachable agent does not become a member and receives only probes', () => {
    const c = crawling(['a1', 'a2']);
    const heard = claims(c, { id: 'a9', inc: c.now }, EVIL, { answers: false });
    c.run(2 * SUSPECT_MS);
    assert.equal(addressOf(c, 'a9', 'a1'), undefined);
    assert.deepEqual(typesOf(heard), new Set(['PROBE']));
    const named = c.snapshot('a1').refused.map(({ agent, claim }) => `${agent} ${claim}`);
    assert.deepEqual(named, ['a9 hello']);
  });

  it('an agent returns at a new address after a crash, within a lease', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.kill('a2');
    c.places.move('a2');
    c.run(HEARTBEAT_MS);
    c.start('a2');
    const startedAt = c.now;
    c.runUntil('a2 has joined', () => c.snapshot('a2').joined, 10_000);
    const tookMs = c.now - startedAt;
    assert.ok(tookMs < LEASE_MS + 4 * HEARTBEAT_MS, `${tookMs} ms`);
    for (const at of ['a1', 'a3']) assert.equal(addressOf(c, 'a2', at), 'tcp://sim/a2/1');
    c.runToEnd();
    assertWhole(c);
  });

  it('a second process of a living agent is refused as soon as the living one has answered', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const was = inc(c, 'a2');
    const heard = claims(c, { id: 'a2', inc: was + 1 }, EVIL);
    c.run(3 * HEARTBEAT_MS);
    assert.deepEqual(typesOf(heard), new Set(['PROBE', 'REFUSED']));
    c.run(3 * SUSPECT_MS);
    assert.equal(inc(c, 'a2'), was);
    assert.equal(addressOf(c, 'a2', 'a1'), 'ipc://sim/a2');
    c.runToEnd();
    assertWhole(c);
  });

  it('a second identifier at an address is refused, and so are agents above the maximum', () => {
    const bounds = { ...BOUNDS, unconfigured: 1 };
    const c = crawling(['a1', 'a2'], { settings: () => ({ bounds }) });
    claims(c, { id: 'a8', inc: c.now }, EVIL);
    c.run(HEARTBEAT_MS);
    assert.deepEqual(names(c, 'a1'), ['a2', 'a8']);
    claims(c, { id: 'a9', inc: c.now }, EVIL);
    c.run(HEARTBEAT_MS);
    claims(c, { id: 'a7', inc: c.now }, 'tcp://192.0.2.9:2');
    c.run(HEARTBEAT_MS);
    assert.deepEqual(names(c, 'a1'), ['a2', 'a8']);
    const why = c.disks.get('a1')!.db.prepare("SELECT detail FROM events WHERE kind = 'refused'");
    const told = why.pluck().all().map(String).join();
    assert.match(told, /its address tcp:\/\/192\.0\.2\.9:1 is that of a8/);
    assert.match(told, /1 agents that are not in the config are members already/);
  });

  it('an agent joins at the address of an unconfigured agent that sends no more heartbeats', () => {
    const c = crawling(['a1', 'a2']);
    claims(c, { id: 'a8', inc: c.now }, EVIL);
    c.run(4 * HEARTBEAT_MS);
    assert.deepEqual(names(c, 'a1'), ['a2', 'a8']);
    const heard = claims(c, { id: 'a9', inc: c.now }, EVIL);
    c.run(HEARTBEAT_MS);
    assert.deepEqual(names(c, 'a1'), ['a2', 'a8', 'a9']);
    const toA9 = heard.filter(({ to }) => to.id === 'a9');
    assert.equal(typesOf(toA9).has('REFUSED'), false);
  });

  it('the total capacity of unconfigured agents is limited', () => {
    const c = crawling(['a1', 'a2']);
    const capacities = [600, 600, 400];
    for (const [k, capacity] of capacities.entries()) {
      claims(c, { id: `g${k}`, inc: c.now }, `tcp://192.0.2.9:${k + 1}`, { capacity });
      c.run(HEARTBEAT_MS);
    }
    assert.deepEqual(names(c, 'a1'), ['a2', 'g0', 'g2']);
    const named = c.snapshot('a1').refused.map(({ agent, claim }) => `${agent} ${claim}`);
    assert.deepEqual(named, ['g1 hello']);
  });

  it('each frame of a configured member can add only one unconfigured agent', () => {
    const c = crawling(['a1', 'a2']);
    const ghosts = Array.from({ length: 60 }, (_, k) => {
      const card = { id: `g${k}`, inc: c.now, capacity: 1, address: `tcp://192.0.2.9:${k + 1}` };
      return { ...card, counter: 1, joined: true, direct: true };
    });
    const a2 = { id: 'a2', inc: inc(c, 'a2') };
    const lie = () => {
      const [beat] = heartbeats(c, 'a2', 0).slice(-1);
      const message = { ...beat!, news: [...beat!.news, ...ghosts] };
      c.deliver('a1', { from: a2, to: { id: 'a1', inc: inc(c, 'a1') }, message });
    };
    lie();
    c.run(LEASE_MS);
    assert.deepEqual(names(c, 'a1'), ['a2']);
    lie();
    c.run(1);
    assert.deepEqual(names(c, 'a1'), ['a2', 'g0']);
  });
});

/**
 * Like `messaging/brief-links.ts`: limits the number of addresses that are probed at a time, and
 * for how long.
 */
function fewAsked(c: Cluster, id: AgentId, max: number, ms: number): void {
  const until = new Map<AgentId, number>();
  c.lose = (from, to, { type }) => {
    if (from !== id || type !== 'PROBE') return false;
    for (const [one, at] of until) if (at <= c.now) until.delete(one);
    if (!until.has(to) && until.size >= max) return true;
    until.set(to, until.get(to) ?? c.now + ms);
    return false;
  };
}

describe('an agent that starts among many unconfigured agents', () => {
  it('knows all of them when it joins, although it can probe only a few at a time', () => {
    const many = Array.from({ length: MANY }, (_, k) => `m${k}`);
    const config = ['a1', 'a2'];
    const configured = config.map((id) => ({ id, address: `ipc://sim/${id}` }));
    const settings = () => ({ configured });
    const c = cluster([...config, ...many], { settings }, 200, 200);
    for (const id of many) c.places.move(id);
    c.startAll();
    c.runUntil('all have met', () => names(c, 'a2').length === MANY + 1, 20_000);
    c.runUntil('the crawl is running', () => c.log.length >= 1000);
    c.kill('a1');
    c.runUntil('a1 is removed', () => !names(c, 'a2').includes('a1'));
    fewAsked(c, 'a1', 8, 5 * SUSPECT_MS);
    c.start('a1');
    c.runUntil('a1 has joined', () => c.snapshot('a1').joined, 5 * SUSPECT_MS);
    assert.equal(names(c, 'a1').length, MANY + 1);
    c.run(SUSPECT_MS);
    assert.deepEqual(c.impolite(), []);
    c.close();
  });
});

describe('a false claim', () => {
  it('of a later incarnation is not believed when the member later loses heartbeats', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const was = inc(c, 'a2');
    claims(c, { id: 'a2', inc: was + 1 }, 'ipc://sim/a2');
    c.run(6 * HEARTBEAT_MS);
    c.lose = (from) => from === 'a2';
    c.run(4 * HEARTBEAT_MS);
    c.lose = () => false;
    assert.equal(c.snapshot('a1').members.find(({ id }) => id === 'a2')?.inc, was);
    c.run(SUSPECT_MS);
    assert.equal(inc(c, 'a2'), was);
    c.runToEnd();
    assertWhole(c);
  });

  it("of a later incarnation at the member's own address ends no agent", () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const was = inc(c, 'a2');
    claims(c, { id: 'a2', inc: was + 1 }, 'ipc://sim/a2');
    c.run(3 * SUSPECT_MS);
    assert.equal(inc(c, 'a2'), was);
    const named = c.snapshot('a1').refused.map(({ agent, claim }) => `${agent} ${claim}`);
    assert.deepEqual(named, ['a2 hello']);
    c.runToEnd();
    assertWhole(c);
  });

  it('that names the receiving agent itself does not end it if the settings differ', () => {
    const c = crawling(['a1', 'a2']);
    const from = { id: 'a1', inc: inc(c, 'a1') + 1 };
    const message = { ...HELLO, fingerprint: 'other', address: EVIL };
    c.deliver('a1', { from, to: { id: 'a1', inc: 0 }, message });
    c.runToEnd();
    assertWhole(c);
  });

  it('that names the receiving agent itself ends it if the settings agree', () => {
    const c = crawling(['a1', 'a2']);
    const from = { id: 'a1', inc: inc(c, 'a1') + 1 };
    c.deliver('a1', { from, to: { id: 'a1', inc: 0 }, message: { ...HELLO, address: EVIL } });
    c.run(1);
    assert.equal(c.agents.get('a1')?.end?.code, 5);
  });
});
