// The look-up of robots.txt files of other owners' hosts, each side by itself: what is asked and
// answered, which answers are accepted, and that no host waits forever. The simulation and
// test/integration/slow/robots-elsewhere.test.ts test whole agents.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RemoteRobots } from '../../../../agent/core/crawl/remote-robots.ts';
import type { Outbound } from '../../../../agent/core/membership/outbound.ts';
import { FullView } from '../../../../agent/core/membership/overlay.ts';
import type { View } from '../../../../agent/core/membership/view.ts';
import {
  Whereabouts,
  type WhereaboutsParts,
} from '../../../../agent/core/membership/whereabouts.ts';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';
import type { Message } from '../../../../agent/core/protocol/messages.ts';
import type { KnownRobots, RobotsResult } from '../../../../agent/core/protocol/visits-port.ts';
import { splitIdentity } from '../../../../agent/url/url-key.ts';

type Told = Extract<Message, { type: 'ROBOTS_TOLD' }>;
type Ask = Extract<Message, { type: 'ROBOTS_ASK' }>;

const HEARTBEAT_MS = 100;
const WAIT_MS = 100_000;
const at = (mono: number) => ({ mono, wall: mono });
const A = 'http://a.test';
const [B, C] = ['http://b.test', 'http://c.test'];
const NOTHING = { reason: '', body: null, to: null, hops: 0 };
const RULES: KnownRobots = {
  result: { kind: 'rules', reason: '', body: 'eA==' },
  standing: 'fresh',
};

/** Agent `me` owns a.test. Every other host belongs to the agent `owner-of-HOST`. */
function agent(own: readonly string[] = ['a.test']) {
  const state = { joined: true, paused: false, own: new Set(own), queued: 0 };
  const sent: { to: string; message: Message }[] = [];
  const told: { host: string; origin: string; word: RobotsResult }[] = [];
  const recorded: string[] = [];
  const known = new Map<string, KnownRobots>();
  const view = {
    get joined() {
      return state.joined;
    },
    owns: (host: string) => state.own.has(host),
    owner: (host: string) => (state.own.has(host) ? 'me' : `owner-of-${host}`),
    get: (id: string) => ({ card: { id } }),
  };
  const outbound = {
    toCard: ({ id }: { id: string }, message: Message) => {
      sent.push({ to: id, message });
    },
  };
  const asks = new RemoteRobots({
    settings: {
      ...{ id: 'me', heartbeatMs: HEARTBEAT_MS },
      bounds: { ...BOUNDS, robotsWaitMs: WAIT_MS },
    },
    view: view as unknown as View,
    whereabouts: new Whereabouts({
      view: view as unknown as View,
      overlay: new FullView(),
    } as unknown as WhereaboutsParts),
    outbound: outbound as unknown as Outbound,
    hostOf: (url) => splitIdentity(url)?.host ?? null,
    directives: state,
    store: { queuedOf: () => state.queued },
    routing: { enqueue: (_, { url }) => recorded.push(url) },
    activity: () => {},
    visits: {
      robotsOf: (_, origin) => known.get(origin) ?? null,
      robotsReported: (host, origin, word) => told.push({ host, origin, word }),
    },
  });
  const begin = (to: string, { host = 'a.test', hops = 1, nowMs = 0 } = {}) =>
    asks.begin({ host, origin: `http://${host}`, to, hops, left: 5 - hops }, nowMs);
  const tell = (answer: Told['answer'], more: Partial<Told> = {}, nowMs = 10) =>
    asks.onMessage(
      'a9',
      { type: 'ROBOTS_TOLD', origin: B, asker: A, ...NOTHING, answer, ...more },
      at(nowMs),
    );
  const ask = (origin: string, waitedMs = 0) => {
    const before = sent.length;
    const message: Ask = { type: 'ROBOTS_ASK', origin, asker: 'http://x.test', waitedMs };
    asks.onMessage('a9', message, at(10));
    return sent.slice(before).map(({ message: m }) => m as Told)[0];
  };
  return { asks, state, sent, told, recorded, known, begin, tell, ask };
}

describe('remote robots: the owner of the redirecting host', () => {
  it('asks the owner of the other host every five heartbeats until it answers', () => {
    const { asks, sent, told, begin, tell } = agent();
    begin(B);
    assert.ok(asks.isLookingUp('a.test', A));
    for (const nowMs of [0, 100, 400, 500, 900, 1000]) asks.pump(at(nowMs));
    assert.deepEqual(
      sent.map(({ to, message }) => [to, message]),
      [0, 500, 1000].map((waitedMs) => [
        'owner-of-b.test',
        { type: 'ROBOTS_ASK', origin: B, asker: A, waitedMs },
      ]),
    );
    tell('rules', { body: 'eA==' });
    const reason = 'redirected to http://b.test/robots.txt, reported by a9';
    const word: RobotsResult = { kind: 'rules', reason, body: 'eA==' };
    assert.deepEqual(told, [{ host: 'a.test', origin: A, word }]);
    assert.equal(asks.isLookingUp('a.test', A), false);
    asks.pump(at(9000));
    assert.equal(sent.length, 3);
  });

  it('uses the answer as its result, and names the source', () => {
    const cases: [Told['answer'], Partial<Told>, RobotsResult['kind'], RegExp][] = [
      ['absent', { reason: 'status_404' }, 'allowAll', /reported by a9: status_404$/],
      ['unreachable', { reason: 'dns' }, 'unreachable', /reported by a9: dns$/],
      ['refused', {}, 'allowAll', /which a9 does not request$/],
    ];
    for (const [answer, more, kind, reason] of cases) {
      const { told, begin, tell } = agent();
      begin(B);
      tell(answer, more);
      assert.equal(told[0]!.word.kind, kind);
      assert.match(told[0]!.word.reason, reason);
    }
  });

  it('counts an answer "waiting" as a failed attempt, not as a file without rules', () => {
    const { told, begin, tell } = agent();
    begin(B);
    tell('waiting', { reason: 'its host waits for http://c.test/robots.txt' });
    const { kind, reason } = told[0]!.word;
    assert.match(reason, /reported by a9: its host waits for http:\/\/c\.test\/robots\.txt$/);
    assert.deepEqual(told[0]!.word, { kind, reason, final: false });
    assert.equal(kind, 'unreachable');
  });

  it('asks the next owner at once after a further redirect', () => {
    const { asks, sent, begin, tell, told } = agent();
    begin(B);
    asks.pump(at(0));
    tell('redirect', { to: C, hops: 1 });
    assert.equal(sent[1]!.to, 'owner-of-c.test');
    tell('rules', { body: 'eA==' });
    assert.equal(told.length, 0, 'answers about b.test are no longer accepted');
    tell('rules', { origin: C, body: 'eA==' });
    assert.match(
      told[0]!.word.reason,
      /^redirected to http:\/\/c\.test\/robots\.txt, reported by a9$/,
    );
  });

  it('ends a redirect cycle at a repeated host, even under another scheme or port', () => {
    for (const to of [A, 'https://a.test', 'http://a.test:8080', 'https://b.test']) {
      const { told, begin, tell } = agent();
      begin(B);
      tell('redirect', { to });
      assert.equal(told[0]!.word.kind, 'allowAll');
      assert.match(told[0]!.word.reason, /in a circle$/);
    }
  });

  it('follows the fifth redirect, but not the sixth', () => {
    const { told, begin, tell } = agent();
    begin(B, { hops: 2 });
    tell('redirect', { to: C, hops: 2 });
    tell('redirect', { origin: C, to: 'http://d.test', hops: 1 });
    assert.equal(told.length, 0);
    tell('redirect', { origin: 'http://d.test', to: 'http://e.test', hops: 1 });
    assert.match(told[0]!.word.reason, /once too often$/);
  });

  it('ignores answers that were not requested or are invalid', () => {
    const { asks, told, begin, tell } = agent();
    tell('rules', { body: 'eA==' });
    begin(B);
    tell('rules', { origin: C, body: 'eA==' });
    tell('rules', { asker: 'https://a.test', body: 'eA==' });
    tell('redirect');
    tell('redirect', { to: 'http://B.test' });
    assert.equal(told.length, 0);
    assert.ok(asks.isLookingUp('a.test', A));
  });

  it('counts the longest wait as a failed attempt, unless the crawl was paused', () => {
    const { asks, told, begin, state } = agent();
    begin(B);
    state.paused = true;
    asks.pump(at(WAIT_MS + 1));
    state.paused = false;
    asks.pump(at(2 * WAIT_MS));
    assert.equal(told.length, 0);
    asks.pump(at(2 * WAIT_MS + 1));
    const reason = 'redirected to http://b.test/robots.txt, no answer in time';
    assert.deepEqual(told[0]!.word, { kind: 'unreachable', reason, final: false });
    assert.equal(asks.isLookingUp('a.test', A), false);
  });

  it('after a view change, asks the new owner at once, only for hosts of this agent', () => {
    const { asks, sent, begin, state } = agent(['a.test', 'd.test']);
    begin(B);
    begin(B, { host: 'd.test' });
    asks.pump(at(0));
    state.own.delete('d.test');
    asks.viewChanged();
    asks.pump(at(1));
    assert.equal(sent.length, 3);
    assert.equal(asks.isLookingUp('d.test', 'http://d.test'), false);
    begin(B, { host: 'd.test' });
    assert.equal(asks.isLookingUp('d.test', 'http://d.test'), false, 'another agent owns the host');
  });

  it('asks for only some of many hosts in one turn', () => {
    const hosts = Array.from({ length: 300 }, (_, i) => `a${i}.test`);
    const { asks, sent, begin } = agent(hosts);
    for (const host of hosts) begin(B, { host });
    const counts = [0, 1, 2].map((nowMs) => {
      asks.pump(at(nowMs));
      return sent.length;
    });
    assert.deepEqual(counts, [200, 300, 300]);
  });

  it('asks nothing before the agent has joined', () => {
    const { asks, sent, begin, state } = agent();
    begin(B);
    state.joined = false;
    asks.pump(at(0));
    assert.equal(sent.length, 0);
  });

  it('looks up its own hosts without a message, and ends their cycles at once', () => {
    const { asks, sent, told, known, begin } = agent(['a.test', 'b.test']);
    known.set(B, RULES);
    begin(B);
    asks.pump(at(0));
    assert.equal(told[0]!.word.kind, 'rules');
    known.clear();
    begin(B);
    begin(A, { host: 'b.test' });
    asks.pump(at(0));
    assert.deepEqual(
      told.slice(1).map(({ host, word }) => [host, word.kind]),
      [
        ['a.test', 'allowAll'],
        ['b.test', 'allowAll'],
      ],
    );
    assert.deepEqual(sent, []);
  });
});

describe('remote robots: the owner of the host that has the file', () => {
  const owner = () => agent(['b.test']);

  it('answers with its result while that is fresh', () => {
    const cases: [RobotsResult, Partial<Told>][] = [
      [
        { kind: 'rules', reason: '', body: 'eA==' },
        { answer: 'rules', body: 'eA==' },
      ],
      [
        { kind: 'allowAll', reason: 'status_404' },
        { answer: 'absent', reason: 'status_404' },
      ],
      [
        { kind: 'unreachable', reason: 'dns', final: true },
        { answer: 'unreachable', reason: 'dns' },
      ],
    ];
    for (const [word, expected] of cases) {
      const { known, ask, recorded } = owner();
      known.set(B, { result: word, standing: 'fresh' });
      const { answer, reason, body } = ask(B)!;
      const [none, wanted] = [{ reason: '', body: null }, expected];
      assert.deepEqual({ answer, reason, body }, { ...none, ...wanted });
      assert.deepEqual(recorded, []);
    }
  });

  it('queues an unknown file, and does not answer until it was fetched', () => {
    const { ask, recorded, state, known } = owner();
    state.queued = 1;
    assert.equal(ask(B), undefined);
    assert.deepEqual(recorded, ['http://b.test/robots.txt']);
    assert.equal(ask(B, WAIT_MS / 2), undefined);
    known.set(B, { result: RULES.result, standing: 'retrying' });
    assert.equal(ask(B, WAIT_MS / 2), undefined, 'it is tried again');
    known.set(B, RULES);
    assert.equal(ask(B)!.answer, 'rules');
  });

  it('refuses if no queued URL would cause a fetch of the file', () => {
    const { ask, known } = owner();
    assert.equal(ask(B)!.answer, 'refused');
    known.set(B, {
      result: { kind: 'unreachable', reason: '', final: true },
      standing: 'retrying',
    });
    assert.equal(ask(B)!.answer, 'unreachable');
  });

  it('answers with a redirect if the file last led to another owner', () => {
    const { ask, known, state, recorded } = owner();
    const word = { kind: 'unreachable', reason: 'whose owner is asked', final: false } as const;
    const leadsTo = { to: C, hops: 2 };
    known.set(B, { result: word, standing: 'retrying', leadsTo });
    for (const queued of [0, 1]) {
      state.queued = queued;
      const { answer, to, hops } = ask(B)!;
      assert.deepEqual({ answer, to, hops }, { answer: 'redirect', to: C, hops: 2 });
    }
    assert.deepEqual(recorded, []);
    known.set(B, { result: word, standing: 'stale', leadsTo });
    assert.equal(ask(B), undefined, 'a queued URL causes a newer answer');
    state.queued = 0;
    assert.equal(ask(B)!.answer, 'redirect');
  });

  it('answers "waiting", not "unreachable", while the file is still retried', () => {
    const { ask, known } = owner();
    const word = { kind: 'unreachable', reason: 'dns', final: false } as const;
    for (const standing of ['retrying', 'stale'] as const) {
      known.set(B, { result: word, standing });
      const { answer, reason } = ask(B)!;
      assert.deepEqual([answer, reason], ['waiting', 'dns']);
    }
  });

  it('answers with a stale result after a long wait, or if no newer one is expected', () => {
    const { ask, known, state } = owner();
    known.set(B, { result: RULES.result, standing: 'stale' });
    assert.equal(ask(B)!.answer, 'rules', 'nothing is queued');
    state.queued = 1;
    assert.equal(ask(B, 59 * HEARTBEAT_MS), undefined);
    assert.equal(ask(B, 60 * HEARTBEAT_MS)!.answer, 'rules');
  });

  it('while it waits itself, redirects to the host that it waits for, with all hops', () => {
    const { ask, begin, recorded } = owner();
    begin(C, { host: 'b.test', hops: 3 });
    const { answer, to, hops } = ask(B)!;
    assert.deepEqual({ answer, to, hops }, { answer: 'redirect', to: C, hops: 3 });
    assert.deepEqual(recorded, []);
  });

  it('while another origin delays the host, queues the file and answers in time', () => {
    const { ask, begin, known, recorded } = owner();
    const https = 'https://b.test';
    begin(C, { host: 'b.test' });
    assert.equal(ask(https, 59 * HEARTBEAT_MS), undefined);
    assert.deepEqual(recorded, ['https://b.test/robots.txt']);
    const { answer, reason } = ask(https, 60 * HEARTBEAT_MS)!;
    assert.deepEqual([answer, reason], ['waiting', 'its host waits for http://c.test/robots.txt']);
    const word = { kind: 'unreachable', reason: 'dns', final: true } as const;
    known.set(https, { result: word, standing: 'retrying' });
    assert.equal(ask(https, 60 * HEARTBEAT_MS)!.answer, 'waiting', 'it is tried again');
    known.set(https, { result: RULES.result, standing: 'stale' });
    assert.equal(ask(https, 60 * HEARTBEAT_MS)!.answer, 'rules');
  });

  it('does not answer for hosts of other owners, or before it has joined', () => {
    const { ask, state, recorded } = owner();
    assert.equal(ask(C), undefined);
    assert.equal(ask('http://B.test'), undefined, 'not canonical');
    state.joined = false;
    assert.equal(ask(B), undefined);
    assert.deepEqual(recorded, []);
  });
});
