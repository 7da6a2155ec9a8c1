// Tests visits to a host whose robots.txt redirects to another host: the host is parked until the
// rules are reported, and then follows them as its own.

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

/** Its robots.txt gives these answers in order, and then repeats the last one. */
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

test('robots elsewhere: parks the host without a thread, and requests nothing from it', () => {
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
  assert.equal(agent.visits.isEmpty(), false, 'its queue keeps the crawl from completing');
  assert.equal(begun.length, 1);
});

test('robots elsewhere: records the pending look-up, and starts a new one after a restart', () => {
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

test('robots elsewhere: applies the rules of the other host once they are reported', () => {
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

test('robots elsewhere: redirects within the host count towards the maximum of five', () => {
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

test('robots elsewhere: a target that is not the robots.txt of an origin counts as missing', () => {
  const { agent, begun, robots } = asking({ robotsAt: 'http://b.test/their/robots' });
  agent.find(page(1));
  agent.run();
  assert.deepEqual(begun, []);
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
  assert.equal(robots().reason, 'redirected to http://b.test/their/robots');
});

test('robots elsewhere: allows everything if the other host has no rules', () => {
  const { agent, told } = asking(AWAY);
  agent.find(page(1));
  agent.run();
  told({ kind: 'allowAll', reason: 'redirected to b: status_404' });
  agent.run();
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
});

test('robots elsewhere: if the other robots.txt is finally unreachable, the pages fail as without rules', () => {
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

test("robots elsewhere: without a result in time, retries the host's own robots.txt as after a failure", () => {
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

test('robots elsewhere: reports the rules of an origin with their standing', () => {
  const { agent, told } = asking(AWAY);
  const robotsOf = () => agent.visits.robotsOf('a.test', 'http://a.test', agent.instant());
  assert.equal(robotsOf(), null);
  told(rules('x'));
  assert.deepEqual(robotsOf(), { result: rules('x'), standing: 'fresh' });
  agent.now += 24 * 3600_000;
  assert.equal(robotsOf()!.standing, 'stale');
  agent.now -= 25 * 3600_000;
  assert.equal(robotsOf()!.standing, 'stale', 'its time is in the future');
  told({ kind: 'unreachable', reason: 'dns', final: false });
  assert.equal(robotsOf()!.standing, 'retrying');
  told({ kind: 'unreachable', reason: 'dns', final: true });
  assert.equal(robotsOf()!.standing, 'fresh');
});
