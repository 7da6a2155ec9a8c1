// Slow hosts beside calm ones: who holds a thread, for how long, and what that costs the others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  LATE_MS,
  type Line,
  type Place,
  Places,
} from '../../../../agent/frontier/schedule/places.ts';
import { THREAD_WAIT_MS_MAX, Threads } from '../../../../agent/frontier/schedule/threads.ts';
import { OneAgent, type Options } from '../one-agent.ts';

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

/** A robots.txt that comes at once makes the host look calm until its first page. */
const robotsFirst: Options['web'] = (request, at) => {
  return request.kind === 'robots' ? { robots: '' } : web(request, at);
};

/** Each host drips every other answer. */
const everyOther: Options['web'] = (request, at) => {
  return Number(new URL(request.url).pathname.slice(1)) % 2 === 0
    ? { status: 200 }
    : web(request, at);
};

function longestGapMs(agent: OneAgent, host = CALM): number {
  const asked = agent.log.filter(({ request }) => request.host === host);
  const gaps = asked.slice(1).map(({ start }, i) => start - asked[i]!.end);
  return Math.max(...gaps);
}

function checkCalm(agent: OneAgent): void {
  const calm = agent.log.filter(({ request }) => request.host === CALM && request.kind === 'page');
  assert.equal(calm.length, 60, 'all of the calm host');
  const longest = longestGapMs(agent);
  assert.ok(longest <= agent.hostDelayMs + LATE_MS_MAX, `${longest} ms`);
  agent.checkPoliteness();
}

const step = fc.record({
  what: fc.constantFrom('start', 'start', 'end', 'pass'),
  nth: fc.nat(50),
  ms: fc.nat(1000),
});

const placeStep = fc.record({
  what: fc.constantFrom('enter', 'enter', 'ask', 'end', 'pass'),
  line: fc.constantFrom<Line>('new', 'back', 'slow'),
  nth: fc.nat(1000),
  ms: fc.nat(1000),
});

for (const [threads, slow] of [
  [1, 20],
  [4, 4],
  [4, 20],
  [4, 300],
  [64, 300],
  [64, 700],
] as const) {
  test(`slow hosts: ${slow} of them and ${threads} threads leave a calm host its pace`, () => {
    checkCalm(crawl(threads, slow, true));
    checkCalm(crawl(threads, slow, true, { web: robotsFirst, robots: true }));
    checkCalm(crawl(threads, slow, true, { web: everyOther }));
    // With many the calm host is late to be found, and asked without a pause from then on.
    if (slow <= 20) checkCalm(crawl(threads, slow, false, { web: robotsFirst, robots: true }));
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
  checkCalm(crawl(4, 60, false));
});

test('slow hosts: an old request gives up its place at that moment', () => {
  const agent = new OneAgent({ web, threads: 32 });
  agent.find(...Array.from({ length: 64 }, (_, n) => `http://slow${n}.test/`));
  agent.find(`http://${CALM}/`);
  agent.run(10_000);
  assert.deepEqual(agent.timesOf(`http://${CALM}/`), [THREAD_WAIT_MS_MAX]);
});

test('slow hosts: one that is slow for a few seconds, or was slow once, does not wait for dripping ones', () => {
  const kinds: Options['web'] = ({ host, url }) => {
    if (host.startsWith('slow')) return { status: 200, tookMs: 30_000 };
    if (host === 'heavy.test') return { status: 200, tookMs: 2000 };
    return { status: 200, ...(url.endsWith('/9') && { tookMs: 5000 }) };
  };
  const agent = new OneAgent({ web: kinds, threads: 4 });
  const hosts = ['heavy.test', 'once.test'];
  for (const host of hosts) {
    agent.find(...Array.from({ length: 30 }, (_, n) => `http://${host}/${n}`));
  }
  // Twice as many as find a place.
  agent.find(...Array.from({ length: 128 * 20 }, (_, n) => `http://slow${n % 128}.test/${n}`));
  agent.run(600_000);
  for (const host of hosts) {
    assert.equal(agent.log.filter(({ request }) => request.host === host).length, 30);
  }
  assert.ok(longestGapMs(agent, 'heavy.test') <= agent.hostDelayMs + LATE_MS_MAX);
  // For some of them places came free only when others had ended.
  const once = longestGapMs(agent, 'once.test');
  assert.ok(once <= agent.hostDelayMs + 40_000, `${once} ms`);
});

test('slow hosts: there is an end to how many requests they may have open', () => {
  const agent = crawl(4, 500, false);
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
  assert.ok(most <= 256, `${most} open`);
});

test('threads: held by the young alone, free within their time, and no wake-up is lost', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.array(step, { maxLength: 200 }),
      (max, steps) => {
        const threads = new Threads(max);
        const open = new Map<number, number>();
        let now = 0;
        let id = 0;
        for (const { what, nth, ms } of steps) {
          if (what === 'pass') now += ms;
          if (what === 'end' && open.size > 0) {
            const ended = [...open.keys()][nth % open.size]!;
            threads.ended(ended);
            open.delete(ended);
          }
          if (what === 'start' && threads.mayStart(now)) {
            threads.started(++id, now);
            open.set(id, now);
          }
          const young = [...open.values()].filter((at) => at + threads.youngMs > now).length;
          assert.ok(young <= max, 'young requests hold the threads');
          assert.equal(threads.mayStart(now), young < max);
          const freeAt = threads.freeAtMs(now);
          assert.ok(freeAt > now);
          assert.equal(freeAt === Infinity, young === 0);
          assert.ok(young === 0 || freeAt <= now + threads.youngMs);
        }
        // All that may be visited get theirs in time.
        const rounds = Math.ceil(Math.max(2 * max, 32) / max);
        assert.ok(rounds * threads.youngMs <= THREAD_WAIT_MS_MAX);
      },
    ),
  );
});

test('places: bounded in all, and no slow host or new one keeps out whoever comes back', () => {
  const steps = fc.array(placeStep, { maxLength: 1500, size: 'max' });
  fc.assert(
    fc.property(steps, (all) => {
      const places = new Places<{ place: Place }>(1);
      const visits: { place: Place }[] = [];
      let now = 0;
      for (const { what, line, nth, ms } of all) {
        const visit = visits[nth % visits.length];
        if (what === 'enter' && places.mayEnter(line)) {
          const entered = { place: line === 'slow' ? 'slow' : 'ordinary' } as { place: Place };
          places.enter(entered);
          visits.push(entered);
        }
        if (what === 'ask' && visit) places.asked(visit, now);
        if (what === 'pass') now += ms;
        if (what === 'end' && visit) {
          places.leave(visit);
          visits.splice(visits.indexOf(visit), 1);
        }
        places.settle(now);
        assert.ok(places.freeAtMs() > now);
        const countOf = (place: Place) => visits.filter((one) => one.place === place).length;
        assert.ok(visits.length <= 256, 'bounded');
        assert.ok(countOf('ordinary') <= 32 && countOf('slow') <= 64);
        assert.equal(places.mayEnter('slow'), countOf('slow') < 64);
        if (countOf('ordinary') < 32 && places.mayEnter('new')) assert.ok(places.mayEnter('back'));
        if (countOf('late') < 160) assert.equal(places.mayEnter('back'), countOf('ordinary') < 32);
      }
    }),
    { numRuns: 30 },
  );
});

test('places: new hosts that drip, however many, leave room for those that come back', () => {
  const places = new Places<{ place: Place }>(4);
  let now = 0;
  for (let n = 0; n < 10_000; n++) {
    if (places.mayEnter('new')) {
      const visit = { place: 'ordinary' as Place };
      places.enter(visit);
      places.asked(visit, now);
    }
    now += 10;
    places.settle(now);
  }
  assert.equal(places.mayEnter('new'), false);
  now += LATE_MS;
  places.settle(now);
  assert.equal(places.mayEnter('back'), true);
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
