// Slow hosts beside calm ones: who holds a thread, for how long, and what that costs the others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Threads, YOUNG_MS } from '../../../agent/frontier/threads.ts';
import { OneAgent, type Options } from './one-agent.ts';

const CALM = 'calm.test';
/** What a calm host may lose beside hostile ones. */
const LATE_MS_MAX = 1500;

/** Hosts `slow…` drip each answer for 30 s, the others answer in 10 ms. */
const web: Options['web'] = ({ host }) => {
  return host.startsWith('slow') ? { status: 200, tookMs: 30_000 } : { status: 200 };
};

function crawl(threads: number, slow: number, calmFirst: boolean, more: Partial<Options> = {}) {
  const agent = new OneAgent({ web, threads, ...more });
  const calm = Array.from({ length: 60 }, (_, n) => `http://${CALM}/${n}`);
  const others = Array.from({ length: slow * 5 }, (_, n) => `http://slow${n % slow}.test/${n}`);
  agent.find(...(calmFirst ? [...calm, ...others] : [...others, ...calm]));
  agent.run(200_000);
  return agent;
}

function longestGapMs(agent: OneAgent, host = CALM): number {
  const asked = agent.log.filter(({ request }) => request.host === host);
  const gaps = asked.slice(1).map(({ start }, i) => start - asked[i]!.end);
  return Math.max(...gaps);
}

for (const [threads, slow] of [
  [4, 4],
  [4, 16],
  [1, 20],
] as const) {
  test(`slow hosts: ${slow} of them and ${threads} threads leave a calm host its pace`, () => {
    for (const calmFirst of [true, false]) {
      const agent = crawl(threads, slow, calmFirst);
      const calm = agent.log.filter(({ request }) => request.host === CALM);
      assert.equal(calm.length, 60, 'all of the calm host');
      const longest = longestGapMs(agent);
      assert.ok(longest <= agent.hostDelayMs + LATE_MS_MAX, `${longest} ms`);
      agent.checkPoliteness();
    }
  });
}

test('slow hosts: more hosts than threads, all in their delays, keep their pace', () => {
  const agent = new OneAgent({ web, threads: 4 });
  for (let n = 0; n < 200; n++) agent.find(`http://h${n % 20}.test/${n}`);
  assert.ok(agent.run() <= 10 * (agent.hostDelayMs + LATE_MS_MAX));
  for (let n = 0; n < 20; n++) {
    assert.ok(longestGapMs(agent, `h${n}.test`) <= agent.hostDelayMs + LATE_MS_MAX);
  }
});

test('slow hosts: more of them than are visited at a time, found first, keep no host out', () => {
  const agent = crawl(4, 60, false);
  const calm = agent.log.filter(({ request }) => request.host === CALM);
  assert.equal(calm.length, 60, 'all of the calm host');
  const longest = longestGapMs(agent);
  assert.ok(longest <= agent.hostDelayMs + LATE_MS_MAX, `${longest} ms`);
  agent.checkPoliteness();
});

test('slow hosts: a request that gives its thread up gives up its place at that moment', () => {
  const agent = new OneAgent({ web, threads: 32 });
  agent.find(...Array.from({ length: 64 }, (_, n) => `http://slow${n}.test/`));
  agent.find(`http://${CALM}/`);
  agent.run(10_000);
  assert.deepEqual(agent.timesOf(`http://${CALM}/`), [2 * YOUNG_MS]);
});

test('long visits: more hosts than are visited at a time, each without an end, take turns', () => {
  const endless: Options['web'] = ({ url }) => ({ status: 200, links: [`${url}x`] });
  const agent = new OneAgent({ web: endless, threads: 4, depthPerHost: 1e6 });
  const hosts = Array.from({ length: 50 }, (_, n) => `h${n}.test`);
  agent.find(...hosts.map((host) => `http://${host}/`));
  agent.run(15 * 60_000);
  const asked = new Set(agent.log.map(({ request }) => request.host));
  assert.equal(asked.size, hosts.length);
  agent.checkPoliteness();
});

test('slow hosts: there is an end to how many requests they may have open', () => {
  const agent = crawl(4, 200, false);
  const times = agent.log.flatMap(({ start, end }) => [
    [start, 1],
    [end, -1],
  ]) as [number, number][];
  times.sort(([a, x], [b, y]) => a - b || x - y);
  let open = 0;
  let most = 0;
  for (const [, by] of times) {
    open += by;
    most = Math.max(most, open);
  }
  assert.ok(most <= 2 * 4 + 16, `${most} open`);
});

const step = fc.record({
  what: fc.constantFrom('start', 'start', 'end', 'pass'),
  isQuick: fc.boolean(),
  nth: fc.nat(50),
  ms: fc.nat(1000),
});

test('threads: bounded, never all held by slow requests for a quick host, and no wake-up is lost', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.array(step, { maxLength: 200 }),
      (max, steps) => {
        const threads = new Threads(max);
        const open = new Map<number, number>();
        let now = 0;
        let id = 0;
        for (const { what, isQuick, nth, ms } of steps) {
          if (what === 'pass') now += ms;
          if (what === 'end' && open.size > 0) {
            const ended = [...open.keys()][nth % open.size]!;
            threads.ended(ended);
            open.delete(ended);
          }
          if (what === 'start' && threads.mayStart(isQuick, now)) {
            threads.started(++id, isQuick, now);
            open.set(id, now);
          }
          const young = [...open.values()].filter((at) => at + YOUNG_MS > now).length;
          assert.ok(young <= max, 'young requests hold the threads');
          assert.ok(open.size <= 2 * max + Math.max(3 * max, 16), 'bounded');
          if (open.size < max) assert.ok(threads.mayStart(false, now), 'a free thread is given');
          const freeAt = threads.freeAtMs(now);
          assert.ok(freeAt > now);
          if (young > 0) assert.ok(freeAt <= now + YOUNG_MS);
        }
      },
    ),
  );
});

test('skips: a host with very many forbidden URLs keeps no calm host waiting', () => {
  const many = 20_000;
  const agent = new OneAgent({
    web: ({ kind, host }) =>
      kind === 'robots' && host === 'shut.test'
        ? { robots: 'User-agent: *\nDisallow: /x' }
        : kind === 'robots'
          ? { robots: '' }
          : { status: 200 },
    robots: true,
    // Both are due in every turn.
    hostDelayMs: 1,
  });
  agent.find(...Array.from({ length: many }, (_, n) => `http://shut.test/x${n}`));
  agent.find(...Array.from({ length: 20 }, (_, n) => `http://${CALM}/${n}`));
  agent.run(60_000);
  assert.equal(Object.keys(agent.skipped()).length, many);
  const longest = longestGapMs(agent);
  assert.equal(longest, 1);
});
