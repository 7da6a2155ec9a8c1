// Tests how slow hosts share threads and visits with quick ones, and what that costs the quick
// hosts.

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
/** How much later than its delay a request to a quick host may start beside slow hosts. */
const LATE_MS_MAX = 1500;

/** Hosts `slow…` take 30 s for each answer, the others 10 ms. */
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

/** An immediate robots.txt makes the host look quick until its first page. */
const robotsFirst: Options['web'] = (request, at) => {
  return request.kind === 'robots' ? { robots: '' } : web(request, at);
};

/** Every second answer of each slow host takes 30 s. */
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
  assert.equal(calm.length, 60, 'all pages of the quick host');
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
  test(`slow hosts: ${slow} of them with ${threads} threads do not slow down a quick host`, () => {
    checkCalm(crawl(threads, slow, true));
    checkCalm(crawl(threads, slow, true, { web: robotsFirst, robots: true }));
    checkCalm(crawl(threads, slow, true, { web: everyOther }));
    // With many slow hosts, the quick host is discovered late, and then requested without pauses.
    if (slow <= 20) checkCalm(crawl(threads, slow, false, { web: robotsFirst, robots: true }));
  });
}

test('slow hosts: more hosts than threads keep their pace while their delays overlap', () => {
  const agent = new OneAgent({ web, threads: 4 });
  for (let n = 0; n < 200; n++) agent.find(`http://h${n % 20}.test/${n}`);
  assert.ok(agent.run() <= 10 * (agent.hostDelayMs + LATE_MS_MAX));
  for (let n = 0; n < 20; n++) {
    assert.ok(longestGapMs(agent, `h${n}.test`) <= agent.hostDelayMs + LATE_MS_MAX);
  }
});

test('slow hosts: slow hosts do not exclude others, even if they come first and exceed the visit limit', () => {
  checkCalm(crawl(4, 60, false));
});

test('slow hosts: a request frees its thread when it reaches its maximum age', () => {
  const agent = new OneAgent({ web, threads: 32 });
  agent.find(...Array.from({ length: 64 }, (_, n) => `http://slow${n}.test/`));
  agent.find(`http://${CALM}/`);
  agent.run(10_000);
  assert.deepEqual(agent.timesOf(`http://${CALM}/`), [THREAD_WAIT_MS_MAX]);
});

test('slow hosts: a host that is slow for seconds or once does not wait for dripping hosts', () => {
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
  // Twice as many as there are places.
  agent.find(...Array.from({ length: 128 * 20 }, (_, n) => `http://slow${n % 128}.test/${n}`));
  agent.run(600_000);
  for (const host of hosts) {
    assert.equal(agent.log.filter(({ request }) => request.host === host).length, 30);
  }
  assert.ok(longestGapMs(agent, 'heavy.test') <= agent.hostDelayMs + LATE_MS_MAX);
  // For some of the requests, places became free only when others had ended.
  const once = longestGapMs(agent, 'once.test');
  assert.ok(once <= agent.hostDelayMs + 40_000, `${once} ms`);
});

test('slow hosts: the number of their open requests is bounded', () => {
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

test('threads: only young requests hold threads, each is freed in time, and no wake-up is lost', () => {
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
        // All hosts that may be visited get a thread in time.
        const rounds = Math.ceil(Math.max(2 * max, 32) / max);
        assert.ok(rounds * threads.youngMs <= THREAD_WAIT_MS_MAX);
      },
    ),
  );
});

test('places: are bounded in total, and slow or new hosts do not exclude returning ones', () => {
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

test('places: new hosts that drip leave room for returning hosts, however many there are', () => {
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

test('skips: a host with very many forbidden URLs does not delay a quick host', () => {
  const many = 20_000;
  const agent = new OneAgent({
    web: ({ kind, host }) =>
      kind === 'robots' && host === 'shut.test'
        ? { robots: 'User-agent: *\nDisallow: /x' }
        : kind === 'robots'
          ? { robots: '' }
          : { status: 200 },
    robots: true,
    // Both hosts are due in every turn.
    hostDelayMs: 1,
  });
  agent.find(...Array.from({ length: many }, (_, n) => `http://shut.test/x${n}`));
  agent.find(...Array.from({ length: 20 }, (_, n) => `http://${CALM}/${n}`));
  agent.run(60_000);
  assert.equal(Object.keys(agent.skipped()).length, many);
  const longest = longestGapMs(agent);
  assert.equal(longest, 1);
});
