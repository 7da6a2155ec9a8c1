// Runs random webs with random failures on virtual time. In each, a host has one request at a time
// and its delay between requests, the accounts are consistent in every turn, and the crawl ends in
// bounded time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Answer, OneAgent, type Options } from '../../one-agent.ts';

const DAY_MS = 24 * 3600_000;
const HOSTS = 4;
const PAGES = 12;

const url = (host: number, page: number) => {
  const scheme = page % 5 === 4 ? 'https' : 'http';
  return `${scheme}://h${host}.test${page % 7 === 6 ? ':81' : ''}/${page}`;
};
const anyUrl = fc
  .tuple(fc.nat(HOSTS - 1), fc.nat(PAGES - 1))
  .map(([host, page]) => url(host, page));

const tookMs = fc.nat(5000);
const retryAfterMs = fc.option(fc.nat(100_000), { nil: undefined });
const links = fc.array(anyUrl, { maxLength: 6 });
const fine = fc.record({ status: fc.constantFrom(200, 200, 404), links, tookMs });
const moved = fc.record({ status: fc.constant(301), redirectTo: anyUrl, tookMs });
const busy = fc
  .record({ status: fc.constantFrom(429, 503), retryAfterMs, tookMs })
  .map(({ retryAfterMs: wait, ...rest }) => {
    return wait === undefined ? rest : { ...rest, retryAfterMs: wait };
  });
const broken = fc.record({ status: fc.constant(500), tookMs });
const causes = ['connection', 'exchange', 'withdrawn', 'forbidden-address'] as const;
const failed = fc.record({ fails: fc.constantFrom(...causes), tookMs });
const pageAnswer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 5, arbitrary: fine },
  moved,
  busy,
  broken,
  failed,
);
const robotsText = fc.constantFrom('', 'User-agent: *\nDisallow: /3', 'User-agent: *\nDisallow: /');
const robotsAnswer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ robots: robotsText, tookMs }) },
  fc.record({ robotsAt: anyUrl, tookMs }),
  fc.record({ noRobots: fc.record({ status: fc.constantFrom(500, 503) }), tookMs }),
  fc.record({ noRobots: fc.record({ error: fc.constant('dns') }), tookMs }),
  fc.record({ fails: fc.constant('withdrawn' as const), tookMs }),
);

/**
 * External events: a right is granted or withdrawn, the outbox fills or empties, the process
 * restarts.
 */
const event = fc.record({
  afterMs: fc.nat(60_000),
  host: fc.nat(HOSTS - 1).map((n) => `h${n}.test`),
  what: fc.constantFrom('foreign', 'blocked', 'no-lease', 'granted', 'full', 'restart', 'find'),
  url: anyUrl,
});

const world = fc.record({
  seeds: fc.array(anyUrl, { minLength: 1, maxLength: 4 }),
  pages: fc.array(pageAnswer, { minLength: 1, maxLength: 40 }),
  robotsFiles: fc.array(robotsAnswer, { minLength: 1, maxLength: 10 }),
  threads: fc.integer({ min: 1, max: 3 }),
  hostDelayMs: fc.constantFrom(0, 20, 1000, 30_000),
  pagesPerHost: fc.constantFrom(3, 1000),
  depthPerHost: fc.constantFrom(1, 16),
  robots: fc.boolean(),
  events: fc.array(event, { maxLength: 8 }),
});

/** Repeats the answers cyclically. `withdrawn` is limited, because it could repeat without end. */
function webOf(pages: Answer[], robotsFiles: Answer[]): Options['web'] {
  let p = 0;
  let r = 0;
  let withdrawn = 0;
  return ({ kind }) => {
    const list = kind === 'page' ? pages : robotsFiles;
    const answer = list[(kind === 'page' ? p++ : r++) % list.length]!;
    const isWithdrawn = 'fails' in answer && answer.fails === 'withdrawn';
    return isWithdrawn && ++withdrawn > 20 ? { status: 404 } : answer;
  };
}

test('visits: stay polite and consistent and end in bounded time, whatever the web does', () => {
  fc.assert(
    fc.property(world, ({ seeds, pages, robotsFiles, events, ...options }) => {
      const web = webOf(pages, robotsFiles);
      let agent = new OneAgent({ web, ...options });
      agent.find(...seeds);
      for (const { afterMs, host, what, url: extra } of events) {
        agent.run(afterMs);
        agent.checkAccounts();
        if (what === 'find') agent.find(extra);
        else if (what === 'full') agent.holdBack = !agent.holdBack;
        else if (what === 'restart') agent = restarted(agent, { web, ...options });
        else if (what === 'granted') agent.rights.delete(host);
        else agent.rights.set(host, what);
        agent.visits.wake(host);
      }
      agent.holdBack = false;
      agent.rights.clear();
      agent.visits.wakeAll();
      // The core also does this for each host with a queue in a new view.
      for (const { host } of agent.store.queuedFrom(0, 1000)) agent.visits.schedule(host);
      const took = agent.run(1000 * DAY_MS);
      assert.ok(took < 60 * DAY_MS, `${took / DAY_MS} days`);
      assert.equal(agent.store.owned().queued, 0);
      assert.equal(agent.visits.openCount(), 0);
      agent.checkAccounts();
      agent.checkPoliteness();
    }),
    { numRuns: 200 },
  );
});

/** As after a kill: open requests are lost, the file stays unchanged. */
function restarted(agent: OneAgent, options: Options): OneAgent {
  agent.checkPoliteness();
  // A new process holds every host back for a delay (PROTOCOL rule 6).
  const next = new OneAgent({ ...options, db: agent.db, now: agent.now });
  for (const { request } of agent.log) {
    next.waits.set(request.host, agent.now + agent.hostDelayMs);
  }
  return next;
}
