// Tests how visits handle robots.txt: when it is requested, what its answers allow and forbid, and
// how long a host waits while it is unavailable.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { robotsAccess } from '../../../../agent/robots/access.ts';
import { absent, independentCases } from '../../url/independent-cases.ts';
import { type Answer, EPOCH, OneAgent, type Options } from '../one-agent.ts';

const found = { status: 200 };
const page = (n: number | string, host = 'a.test') => `http://${host}/${n}`;
const ROBOTS = 'http://a.test/robots.txt';
const HOUR_MS = 3600_000;

/** Every page is found; robots.txt gives these answers in order, and then repeats the last one. */
function agentWith(answers: Answer[], options: Partial<Options> = {}): OneAgent {
  const left = [...answers];
  const web: Options['web'] = ({ kind }) =>
    kind === 'page' ? found : left.length > 1 ? left.shift()! : left[0]!;
  return new OneAgent({ web, robots: true, ...options });
}

test('robots: is requested once per origin, before the first page', () => {
  const agent = agentWith([{ robots: 'User-agent: *\nAllow: /' }]);
  const urls = [page(1), 'https://a.test/2', 'http://a.test:8080/3', page(4)];
  agent.find(...urls);
  agent.run();
  assert.deepEqual(agent.asked('any'), [
    'http://a.test/robots.txt',
    page(1),
    'https://a.test/robots.txt',
    'https://a.test/2',
    'http://a.test:8080/robots.txt',
    'http://a.test:8080/3',
    page(4),
  ]);
  agent.checkPoliteness();
});

test('robots: an origin that does not answer delays no other origin of its host', () => {
  const dead = ['https://a.test:8443/', 'https://a.test:9443/'];
  const agent = new OneAgent({
    web: ({ url, kind }) => {
      if (url.startsWith('https:'))
        return kind === 'robots' ? { noRobots: { error: 'connect_refused' } } : found;
      return kind === 'robots' ? { robots: '' } : found;
    },
    robots: true,
  });
  agent.find(page(1), ...dead, page(2), page(3));
  agent.run();
  const lastMs = Math.max(
    ...agent.log.flatMap(({ request, end }) => (request.url.startsWith('http:') ? [end] : [])),
  );
  assert.ok(lastMs - EPOCH < 10_000, `the last page came after ${lastMs - EPOCH} ms`);
  assert.deepEqual(agent.asked(), [page(1), page(2), page(3)]);
  for (const url of dead) {
    const asked = agent.log.filter(({ request }) => request.url === `${url}robots.txt`);
    assert.equal(asked.length, 4, url);
  }
  agent.checkPoliteness();
  agent.checkAccounts();
});

test('robots: forbidden URLs are skipped with the reason, without a request', () => {
  const agent = agentWith([{ robots: 'User-agent: *\nDisallow: /x' }]);
  for (let n = 0; n < 1000; n++) agent.find(page(`x${n}`));
  agent.find(page('y'));
  agent.run();
  assert.deepEqual(agent.asked(), [page('y')]);
  assert.ok(agent.turns >= 5, 'a thousand skips are spread over turns');
  const reasons = Object.values(agent.skipped());
  assert.equal(reasons.length, 1000);
  assert.deepEqual(new Set(reasons), new Set(['robots']));
  agent.checkAccounts();
});

test('robots: is not requested if the config disables it', () => {
  const agent = agentWith([{ robots: 'User-agent: *\nDisallow: /' }], { robots: false });
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.asked('any'), [page(1)]);
});

test('robots: rules older than 24 hours are requested again before the next page', () => {
  const agent = agentWith([{ robots: '' }, { robots: 'User-agent: *\nDisallow: /' }], {
    hostDelayMs: 10 * HOUR_MS,
  });
  for (let n = 0; n < 9; n++) agent.find(page(n));
  agent.run();
  assert.deepEqual(agent.asked('any'), [ROBOTS, page(0), page(1), ROBOTS]);
  assert.equal(Object.keys(agent.skipped()).length, 7);
});

test('robots: rules survive the end of the visit and of the process', () => {
  const first = agentWith([{ robots: 'User-agent: *\nDisallow: /x' }]);
  first.find(page(1));
  first.run();
  const second = agentWith([{ noRobots: { error: 'dns' } }], { db: first.db, now: first.now });
  second.find(page('x'), page(2));
  second.run();
  assert.deepEqual(second.asked('any'), [page(2)]);
  assert.deepEqual(second.skipped(), { [page('x')]: 'robots' });
});

test('robots: a failing server is retried after 10, 60 and 300 s, then its origin fails', () => {
  const agent = agentWith([{ noRobots: { status: 500 } }]);
  for (let n = 0; n < 1200; n++) agent.find(page(n));
  agent.run();
  assert.deepEqual(agent.timesOf(ROBOTS), [0, 10_010, 70_020, 370_030]);
  assert.deepEqual(agent.asked(), []);
  assert.deepEqual(agent.skipped(), {});
  assert.deepEqual(new Set(Object.values(agent.pages())), new Set(['robots_unreachable']));
  assert.equal(Object.keys(agent.pages()).length, 1200);
  agent.checkAccounts();
});

test('robots: an unreachable server fails the queue of its own origin only', () => {
  const web: Options['web'] = ({ kind, url }) =>
    kind === 'page' || url.startsWith('https') ? found : { noRobots: { error: 'connect_refused' } };
  const agent = new OneAgent({ web, robots: true });
  agent.find(page(1), page(2), 'https://a.test/3');
  agent.run();
  assert.deepEqual(agent.timesOf(ROBOTS), [0, 10_010, 70_020, 370_030]);
  assert.deepEqual(agent.pages(), {
    [page(1)]: 'connect_refused',
    [page(2)]: 'connect_refused',
    'https://a.test/3': 200,
  });
  agent.checkAccounts();
});

test('robots: is requested again only 24 hours after it was abandoned', () => {
  const agent = agentWith([{ noRobots: { error: 'dns' } }]);
  agent.find(page(1));
  agent.run();
  agent.run(HOUR_MS);
  agent.find(page(2));
  agent.run();
  assert.equal(agent.timesOf(ROBOTS).length, 4);
  assert.deepEqual(agent.pages(), { [page(1)]: 'dns', [page(2)]: 'dns' });
  agent.now += 24 * HOUR_MS;
  agent.find(page(3));
  agent.run();
  assert.equal(agent.timesOf(ROBOTS).length, 8);
  agent.checkAccounts();
});

test('robots: a busy server waits as for pages, and the next owner receives the wait', () => {
  const busy: Answer = { noRobots: { status: 503, retryAfterMs: 5000 } };
  const agent = agentWith([busy, { noRobots: { status: 429 } }, { robots: '' }]);
  agent.find(page(1));
  agent.run(1000);
  assert.equal(agent.waits.get('a.test'), EPOCH + 10 + 5000);
  agent.run();
  assert.deepEqual(agent.timesOf(ROBOTS), [0, 5010, 125_020]);
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
});

test('robots: a server that stays busy is abandoned', () => {
  const agent = agentWith([{ noRobots: { status: 503 } }]);
  agent.find(page(1));
  const tookMs = agent.run();
  assert.equal(agent.timesOf(ROBOTS).length, 8);
  assert.ok(tookMs < 3 * HOUR_MS);
  assert.deepEqual(agent.pages(), { [page(1)]: 'robots_unreachable' });
});

for (const retryAfterMs of [0, 1000]) {
  test(`robots: an outage with Retry-After of ${retryAfterMs} ms at most doubles, and fails no page`, () => {
    const web: Options['web'] = (_, at) => {
      if (at < EPOCH + 12_000) return { noRobots: { status: 503, retryAfterMs } };
      return found;
    };
    const agent = new OneAgent({
      robots: true,
      web: (request, at) => (request.kind === 'robots' ? web(request, at) : found),
    });
    agent.find(page(1));
    assert.ok(agent.run() < 30_000);
    assert.deepEqual(agent.pages(), { [page(1)]: 200 });
    agent.checkPoliteness();
  });
}

test('robots: attempts within a few seconds are not final', () => {
  const answers: Answer[] = [
    ...Array<Answer>(5).fill({ noRobots: { status: 503, retryAfterMs: 0 } }),
    ...Array<Answer>(2).fill({ noRobots: { error: 'connect_refused' } }),
    { robots: '' },
  ];
  const agent = agentWith(answers);
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
});

test('robots: a server that keeps naming a short wait is abandoned within hours', () => {
  const agent = agentWith([{ noRobots: { status: 429, retryAfterMs: 0 } }]);
  agent.find(page(1));
  const tookMs = agent.run();
  assert.ok(tookMs > 2 * HOUR_MS && tookMs < 4 * HOUR_MS, `${tookMs / HOUR_MS} hours`);
  assert.ok(agent.timesOf(ROBOTS).length < 20);
  assert.deepEqual(agent.pages(), { [page(1)]: 'robots_unreachable' });
});

for (const status of [408, 421, 425]) {
  test(`robots: ${status} is retried, and the last attempt counts as a missing file`, () => {
    const agent = agentWith([{ noRobots: { status } }]);
    agent.find(page(1));
    agent.run();
    assert.deepEqual(agent.timesOf(ROBOTS), [0, 1010, 11_020, 71_030]);
    assert.deepEqual(agent.pages(), { [page(1)]: 200 });
    const once = agentWith([{ noRobots: { status } }, { robots: 'User-agent: *\nDisallow: /' }]);
    once.find(page(1));
    once.run();
    assert.deepEqual(once.skipped(), { [page(1)]: 'robots' });
  });
}

test('robots: the duration of a failure survives a restart', () => {
  const busy: Answer = { noRobots: { status: 503, retryAfterMs: 1000 } };
  const first = agentWith([busy]);
  first.find(page(1));
  first.run(HOUR_MS);
  const asked = first.timesOf(ROBOTS).length;
  const second = agentWith([busy], { db: first.db, now: first.now });
  const tookMs = HOUR_MS + second.run();
  assert.ok(asked + second.timesOf(ROBOTS).length < 20);
  assert.ok(tookMs < 4 * HOUR_MS, `${tookMs / HOUR_MS} hours`);
});

test('robots: redirects on the same host are followed, each after the delay', () => {
  const agent = agentWith([
    { robotsAt: 'https://a.test/robots.txt' },
    { robotsAt: 'https://a.test/r2' },
    { robots: 'User-agent: *\nDisallow: /x' },
  ]);
  agent.find(page('x'), page('y'));
  agent.run();
  const asked = [ROBOTS, 'https://a.test/robots.txt', 'https://a.test/r2', page('y')];
  assert.deepEqual(agent.asked('any'), asked);
  agent.checkPoliteness();
});

test('robots: everything is allowed after five redirects or a redirect to another host', () => {
  const loop = agentWith([{ robotsAt: ROBOTS }]);
  loop.find(page(1));
  loop.run();
  assert.equal(loop.timesOf(ROBOTS).length, 6);
  assert.deepEqual(loop.pages(), { [page(1)]: 200 });
  const away = agentWith([{ robotsAt: 'http://www.a.test/robots.txt' }]);
  away.find(page(1));
  away.run();
  assert.deepEqual(away.asked('any'), [ROBOTS, page(1)]);
});

/** Redirects twice within the host, then gives rules; the answer depends only on the URL. */
const redirecting: Options['web'] = ({ kind, url }) => {
  if (kind === 'page') return found;
  if (url === ROBOTS) return { robotsAt: 'https://a.test/robots.txt' };
  if (url === 'https://a.test/robots.txt') return { robotsAt: 'https://a.test/r2' };
  return { robots: 'User-agent: *\nDisallow: /x' };
};

test('robots: redirects are followed even if the visit ends between them', () => {
  const agent = new OneAgent({
    web: redirecting,
    robots: true,
    delays: { responseTimeFactor: 500 },
  });
  agent.find(page('x'), page('y'));
  const took = agent.run(HOUR_MS);
  assert.ok(took < HOUR_MS, 'it ends');
  const asked = [ROBOTS, 'https://a.test/robots.txt', 'https://a.test/r2', page('y')];
  assert.deepEqual(agent.asked('any'), asked);
});

test('robots: following redirects continues after a restart', () => {
  const first = new OneAgent({ web: redirecting, robots: true });
  first.find(page('y'));
  first.run(500);
  assert.deepEqual(first.asked('any'), [ROBOTS]);
  const second = new OneAgent({ web: redirecting, robots: true, db: first.db, now: first.now });
  second.run();
  assert.deepEqual(second.asked('any'), [
    'https://a.test/robots.txt',
    'https://a.test/r2',
    page('y'),
  ]);
});

test('robots: endless redirects end after five, even if each visit makes one request', () => {
  const agent = agentWith([{ robotsAt: ROBOTS }], { delays: { responseTimeFactor: 500 } });
  agent.find(page(1));
  assert.ok(agent.run(HOUR_MS) < HOUR_MS);
  assert.equal(agent.timesOf(ROBOTS).length, 6);
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
});

test('robots: redirects between failures do not reset the attempts', () => {
  const web: Options['web'] = ({ url }) =>
    url === ROBOTS ? { robotsAt: 'http://a.test/r2' } : { noRobots: { status: 500 } };
  const agent = new OneAgent({ web, robots: true });
  agent.find(page(1));
  agent.run();
  assert.equal(agent.timesOf(ROBOTS).length, 4);
  assert.deepEqual(agent.pages(), { [page(1)]: 'robots_unreachable' });
});

test('robots: a look-up that was interrupted a week ago starts again', () => {
  const first = new OneAgent({ web: redirecting, robots: true });
  first.find(page('y'));
  first.run(500);
  const options = { db: first.db, now: first.now + 7 * 24 * HOUR_MS };
  const second = new OneAgent({ web: redirecting, robots: true, ...options });
  second.run();
  assert.equal(second.asked('any')[0], ROBOTS);
  assert.deepEqual(second.pages(), { [page('y')]: 200 });
});

test('robots: with a delay of more than a day, rules are valid for the page they were requested for', () => {
  const agent = agentWith([{ robots: '' }], { hostDelayMs: 30 * HOUR_MS });
  agent.find(page(1), page(2));
  const took = agent.run(30 * 24 * HOUR_MS);
  assert.ok(took < 30 * 24 * HOUR_MS, 'it ends');
  assert.deepEqual(agent.asked('any'), [ROBOTS, page(1), ROBOTS, page(2)]);
});

test('robots: the Crawl-delay of one origin applies to a visit that reads the rules of another', () => {
  const web: Options['web'] = ({ kind, url }) => {
    if (kind === 'page') return found;
    return { robots: url.startsWith('https') ? 'User-agent: *\nCrawl-delay: 5' : '' };
  };
  const options = { web, robots: true };
  const first = new OneAgent(options);
  first.find('https://a.test/1', page(2));
  first.run();
  const second = new OneAgent({ ...options, db: first.db, now: first.now + HOUR_MS });
  second.find(page(3), page(4));
  second.run();
  const [third, fourth] = second.log;
  assert.ok(fourth!.start - third!.end >= 5000, `${fourth!.start - third!.end} ms`);
});

test('robots: a withdrawn request is repeated as often as necessary', () => {
  let left = 12;
  const web: Options['web'] = ({ kind }) =>
    kind === 'robots' && left-- > 0 ? { fails: 'withdrawn' } : { status: 200 };
  const agent = new OneAgent({ web, robots: true });
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.pages(), { [page(1)]: 200 });
  agent.checkPoliteness();
});

test("robots: a forbidden address skips the host's queue as blocked", () => {
  const web: Options['web'] = ({ kind }) =>
    kind === 'robots' ? { fails: 'forbidden-address' } : found;
  const agent = new OneAgent({ web, robots: true });
  for (let n = 0; n < 700; n++) agent.find(page(n));
  agent.run();
  assert.equal(agent.asked('any').length, 1);
  assert.deepEqual(new Set(Object.values(agent.skipped())), new Set(['blocked']));
  assert.equal(Object.keys(agent.skipped()).length, 700);
});

test('robots: any failure of the request counts as unreachable', () => {
  const web: Options['web'] = ({ kind }) =>
    kind === 'robots' ? { fails: 'connection', code: 'dns' } : found;
  const agent = new OneAgent({ web, robots: true });
  agent.find(page(1));
  agent.run();
  assert.deepEqual(agent.timesOf(ROBOTS), [0, 10_010, 70_020, 370_030]);
  assert.deepEqual(agent.pages(), { [page(1)]: 'dns' });
});

interface AccessRow {
  id: string;
  when: { status?: number; body?: string; network?: string; cachedAgeHours?: number };
  expect: string;
  level: string;
}
const cases = independentCases<AccessRow[]>('robots_access.json');

test('independent cases: each answer allows what the cases expect', { skip: absent(cases) }, () => {
  let judged = 0;
  for (const { id, when, expect } of cases!) {
    const { status, network, body = '' } = when;
    if ((status === undefined && network === undefined) || when.cachedAgeHours) continue;
    if (body.startsWith('<')) continue; // not rules: other tests cover the fetch and the parser
    const none = { location: null, retryAfterMs: null };
    const told =
      status === undefined
        ? ({ kind: 'failure', code: network! } as const)
        : ({ kind: 'response', status, body: Buffer.from(body), ...none } as const);
    const access = robotsAccess(told, ROBOTS);
    const agent = agentWith([
      access.kind === 'unreachable'
        ? { noRobots: { error: access.error!, status: access.status! } }
        : { robots: access.kind === 'rules' ? body : '' },
    ]);
    agent.find(page('x'), page('y'));
    agent.run(9000);
    const asked = agent.asked().length;
    const verdict = asked === 2 ? 'allowAll' : asked === 1 ? 'rules' : 'disallowAllTemporarily';
    assert.ok(expect.split('|').includes(verdict), `${id}: ${verdict}`);
    judged++;
  }
  assert.ok(judged > 10);
});

test('independent cases: expired rules are requested again', { skip: absent(cases) }, () => {
  let judged = 0;
  for (const { id, when, expect } of cases!) {
    if (when.cachedAgeHours === undefined) continue;
    const again: Answer =
      when.status === 200 ? { robots: '' } : { noRobots: { status: when.status! } };
    const agent = agentWith([{ robots: 'User-agent: *\nDisallow: /x' }, again]);
    agent.find(page(1));
    agent.run();
    agent.now += when.cachedAgeHours * HOUR_MS;
    agent.find(page('x'), page('y'));
    agent.run(9000);
    assert.equal(agent.timesOf(ROBOTS).length, 2, id);
    const asked = agent.asked().length - 1;
    const verdict =
      asked === 2 ? 'refetch' : asked === 1 ? 'cachedRules' : 'disallowAllTemporarily';
    assert.ok(expect.split('|').includes(verdict), `${id}: ${verdict}`);
    judged++;
  }
  assert.ok(judged > 1);
});

test('robots: an expensive file is evaluated in steps over several turns, and an event reports it', () => {
  const rules = Array.from({ length: 20_000 }, (_, k) => `Disallow:/*x${k.toString(36)}*aaaaa`);
  const robots = ['User-agent: *', 'Disallow: /aa', ...rules].join('\n');
  const agent = agentWith([{ robots }]);
  for (let n = 0; n < 40; n++) agent.find(page(`${'a'.repeat(2000)}${n}`));
  agent.find(page('y'));
  agent.run();
  assert.deepEqual(agent.asked(), [page('y')]);
  assert.ok(
    agent.turns >= 14,
    `three checks of four million steps a turn, not ${agent.turns} turns`,
  );
  const sql = "SELECT detail FROM events WHERE kind = 'robots'";
  const [event, ...others] = agent.db.prepare(sql).all() as { detail: string }[];
  assert.equal(others.length, 0);
  const detail = JSON.parse(event!.detail);
  assert.deepEqual(detail, {
    ...{ host: 'a.test', origin: 'http://a.test', rules: 20_001, wildcards: 20_000 },
  });
});

test('robots: visits share the rule evaluation steps of one turn', () => {
  const robots = `User-agent: *\nDisallow: /x`;
  const agent = agentWith([{ robots }]);
  for (const host of ['a.test', 'b.test', 'c.test', 'd.test']) {
    for (let n = 0; n < 400; n++) agent.find(page(`x${n}`, host));
  }
  agent.run();
  assert.equal(Object.keys(agent.skipped()).length, 1600);
  assert.ok(agent.turns >= 8, 'sixteen hundred skips are spread over turns');
});
