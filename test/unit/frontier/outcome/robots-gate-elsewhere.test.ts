// A robots.txt that is another host's, in the life of a visit: the host is parked until somebody says
// what the rules are, and then goes by them as by its own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RobotsRedirect } from '../../../../agent/core/crawl/remote-robots.ts';
import type { RobotsResult } from '../../../../agent/core/protocol/visits-port.ts';
import { type Answer, EPOCH, OneAgent } from '../one-agent.ts';

const ROBOTS = 'http://a.test/robots.txt';
const page = (n: number | string) => `http://a.test/${n}`;
const rules = (text: string): RobotsResult => {
  return { kind: 'rules', reason: 'redirected to b', body: Buffer.from(text).toString('base64') };
};

/** Its robots.txt answers as told, the last answer for ever. */
function asking(...answers: Answer[]) {
  const left = [...answers];
  const begun: RobotsRedirect[] = [];
  const waiting = new Map<string, string>();
  const agent = new OneAgent({
    web: ({ kind }) =>
      kind === 'page' ? { status: 200 } : left.length > 1 ? left.shift()! : left[0]!,
    robots: true,
    threads: 1,
    asks: {
      begin: (redirect) => {
        begun.push(redirect);
        waiting.set(redirect.host, redirect.origin);
      },
      isLookingUp: (host, origin) => waiting.get(host) === origin,
    },
  });
  const told = (word: RobotsResult, origin = 'http://a.test') => {
    waiting.delete('a.test');
    agent.store.begin();
    agent.visits.robotsReported('a.test', origin, word, agent.instant());
    agent.store.commit(false);
  };
  const robots = (origin = 'http://a.test') =>
    agent.store.robots(agent.store.host('a.test').number, origin)!;
  return { agent, begun, told, robots };
}

const AWAY: Answer = { robotsAt: 'http://b.test/robots.txt' };

test('robots elsewhere: the host is parked without a thread, and nothing of it is asked for', () => {
  const { agent, begun } = asking(AWAY);
  agent.find(page(1), page(2));
  agent.run();
  assert.deepEqual(begun, [
    { host: 'a.test', origin: 'http://a.test', to: 'http://b.test', hops: 1, left: 4 },
  ]);
  agent.find(page(3));
  agent.visits.wakeAll();
  agent.run();
  assert.deepEqual(agent.asked('any'), [ROBOTS]);
  assert.equal(agent.visits.isEmpty(), false, 'its queue keeps the crawl from its end');
  assert.equal(begun.length, 1);
});

test('robots elsewhere: meanwhile its record says so, and after a restart it is asked for anew', () => {
  const { agent, robots } = asking(AWAY);
  agent.find(page(1));
  agent.run();
  const { kind, attempts, reason, hop } = robots();
  const why = 'redirected to http://b.test/robots.txt, whose owner is asked';
  assert.deepEqual({ kind, attempts, reason }, { kind: 'unreachable', attempts: 0, reason: why });
  assert.deepEqual(hop, { location: 'http://b.test/robots.txt', hops: 1 });
  const { leadsTo } = agent.visits.robotsOf('a.test', 'http://a.test', agent.instant()) ?? {};
  assert.deepEqual(leadsTo, { to: 'http://b.test', hops: 1 });
  const web = ({ kind: of }: { kind: string }): Answer =>
    of === 'page' ? { status: 200 } : { robots: '' };
  const next = new OneAgent({ web, robots: true, db: agent.db, now: agent.now });
  next.find(page(2));
  next.run();
  assert.deepEqual(next.asked('any'), [ROBOTS, page(1), page(2)]);
});

test('robots elsewhere: once told, the host goes by the rules of the other', () => {
  const { agent, told, robots } = asking(AWAY);
  agent.find(page('x1'), page(2), page('x3'));
  agent.run();
  told(rules('User-agent: *\nDisallow: /x\nCrawl-delay: 7'));
  agent.run();
  assert.deepEqual(agent.asked('any'), [ROBOTS, page(2)]);
  assert.deepEqual(agent.skipped(), { [page('x1')]: 'robots', [page('x3')]: 'robots' });
  assert.equal(robots().reason, 'redirected to b');
  assert.equal(agent.store.host('a.test').delayMs, 7000);
  agent.checkPoliteness();
  agent.checkAccounts();
});

test('robots elsewhere: redirects within the host count among the five', () => {
  const https = 'https://a.test/robots.txt';
  const { agent, begun } = asking({ robotsAt: https }, AWAY);
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.asked('any'), [ROBOTS, https]);
  assert.deepEqual(begun[0], {
    ...{ host: 'a.test', origin: 'http://a.test', to: 'http://b.test', hops: 2, left: 3 },
  });
  const inHost: Answer[] = Array.from({ length: 5 }, () => ({ robotsAt: https }));
  const far = asking(...inHost, AWAY);
  far.agent.find(page(1));
  far.agent.run();
  assert.deepEqual(far.begun, []);
  assert.deepEqual(far.agent.pages(), { [page(1)]: 200 });
});

test('robots elsewhere: what is no robots.txt of an origin counts as missing', () => {
  const { agent, begun, robots } = asking({ robotsAt: 'http://b.test/their/robots' });
  agent.find(page(1));
  agent.run();
  assert.deepEqual(begun, []);
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
  assert.equal(robots().reason, 'redirected to http://b.test/their/robots');
});

test('robots elsewhere: without rules there everything is allowed', () => {
  const { agent, told } = asking(AWAY);
  agent.find(page(1));
  agent.run();
  told({ kind: 'allowAll', reason: 'redirected to b: status_404' });
  agent.run();
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
});

test('robots elsewhere: out of reach for good, its pages fail as those of any host without its rules', () => {
  const { agent, told } = asking(AWAY);
  agent.find(page(1), 'https://a.test/2');
  agent.run();
  told({ kind: 'unreachable', reason: 'redirected to b: dns', final: true });
  agent.run();
  assert.deepEqual(agent.skipped(), {});
  assert.equal(agent.pages()[page(1)], 'robots_unreachable');
  assert.deepEqual(agent.asked('any'), [ROBOTS, 'https://a.test/robots.txt']);
  agent.checkAccounts();
});

test('robots elsewhere: not told in time, the host itself is asked again as if it had failed', () => {
  const { agent, told, robots } = asking(AWAY);
  agent.find(page(1));
  const late: RobotsResult = { kind: 'unreachable', reason: 'redirected to b', final: false };
  agent.run();
  for (const [i, waitMs] of [10_000, 60_000, 300_000].entries()) {
    const toldAt = agent.now - EPOCH;
    told(late);
    agent.run();
    assert.equal(agent.timesOf(ROBOTS)[i + 1], toldAt + waitMs);
  }
  told(late);
  agent.run();
  assert.equal(robots().retryAt, Infinity);
  assert.deepEqual(agent.pages(), { [page(1)]: 'robots_unreachable' });
});

test('robots elsewhere: what is known of an origin says how good it is', () => {
  const { agent, told } = asking(AWAY);
  const robotsOf = () => agent.visits.robotsOf('a.test', 'http://a.test', agent.instant());
  assert.equal(robotsOf(), null);
  told(rules('x'));
  assert.deepEqual(robotsOf(), { result: rules('x'), standing: 'fresh' });
  agent.now += 24 * 3600_000;
  assert.equal(robotsOf()!.standing, 'stale');
  agent.now -= 25 * 3600_000;
  assert.equal(robotsOf()!.standing, 'stale', 'it is of a time to come');
  told({ kind: 'unreachable', reason: 'dns', final: false });
  assert.equal(robotsOf()!.standing, 'retrying');
  told({ kind: 'unreachable', reason: 'dns', final: true });
  assert.equal(robotsOf()!.standing, 'fresh');
});
