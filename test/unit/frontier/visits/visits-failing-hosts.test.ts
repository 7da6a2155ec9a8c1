// Tests on virtual time that hosts are abandoned if all their answers are slow failures, as hosts
// without answers are, and that a host which also serves pages is not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OneAgent, type Options } from '../one-agent.ts';
import {
  agentOf,
  countOf,
  drawn,
  found,
  MINUTE_MS,
  page,
  slow,
} from './visits-failing-hosts-stage.ts';

test('failing: a host that fails in the middle of its pages is abandoned, although its front page succeeded', () => {
  let good = 0;
  const agent = agentOf(() => (++good <= 3000 ? found : slow({ status: 502 })), 0);
  agent.find(page(''));
  for (let n = 0; n < 10_000; n++) agent.find(page(n));
  agent.run();
  assert.equal(countOf(agent, 200), 3000);
  assert.ok(countOf(agent, 'host_failing') > 6900);
  assert.ok(agent.log.length < 3080, `${agent.log.length} requests`);
  assert.ok(agent.log.some(({ request }) => request.isTest && request.url === page('')));
  agent.checkAccounts();
});

test('failing: quick failures end each page separately, however many there are', () => {
  for (const answer of [{ status: 500 }, { fails: 'exchange', code: 'http_syntax' }] as const) {
    const agent = agentOf(() => ({ ...answer, tookMs: 50 }), 500);
    agent.run();
    assert.equal(agent.log.length, 2000, 'four attempts at each');
    assert.equal(countOf(agent, 'status' in answer ? 500 : 'http_syntax'), 500);
  }
});

for (const [name, isBad] of [
  ['every other page', (n: number) => n % 2 === 0],
  ['nine of ten', (n: number) => n % 10 > 0],
  ['the first half', (n: number) => n < 100],
  ['the second half', (n: number) => n >= 100],
] as const) {
  test(`failing: a host is not abandoned if ${name} fails slowly, and each page has its outcome`, () => {
    const web: Options['web'] = ({ url }) => {
      return url !== page('') && isBad(Number(url.slice(page('').length)))
        ? slow({ status: 504 })
        : found;
    };
    const agent = agentOf(web, 0);
    agent.find(page(''));
    for (let n = 0; n < 200; n++) agent.find(page(n));
    agent.run();
    const bad = Array.from({ length: 200 }, (_, n) => n).filter(isBad).length;
    assert.deepEqual([countOf(agent, 504), countOf(agent, 200)], [bad, 201 - bad]);
    agent.checkAccounts();
  });
}

test('failing: a success of the page that links to the others shows that the host works', () => {
  const web: Options['web'] = ({ url }) => {
    if (url !== page('list')) return url === page('') ? { status: 404 } : slow({ status: 504 });
    return { status: 200, links: Array.from({ length: 60 }, (_, n) => page(n)) };
  };
  const agent = agentOf(web, 0, { robots: true });
  agent.find(page(''), page('list'));
  agent.run();
  assert.equal(countOf(agent, 504), 60);
  const tests = agent.log.filter(({ request }) => request.isTest);
  assert.deepEqual(new Set(tests.map(({ request }) => request.url)), new Set([page('list')]));
  agent.checkAccounts();
});

test('failing: a test request to a forbidden address does not abandon the host', () => {
  let isDown = false;
  const web: Options['web'] = ({ url }) => {
    if (!isDown) return found;
    return url === page('') ? { fails: 'forbidden-address' } : slow({ status: 504 });
  };
  const agent = agentOf(web, 0);
  agent.find(page(''));
  agent.run();
  isDown = true;
  for (let n = 0; n < 50; n++) agent.find(page(n));
  agent.run();
  assert.ok(Object.values(agent.skipped()).includes('blocked'));
  agent.checkAccounts();
});

test('failing: the count of failures survives a restart', () => {
  const web: Options['web'] = () => slow({ status: 504 });
  const first = agentOf(web, 1000);
  first.run(8 * MINUTE_MS);
  const second = new OneAgent({ web, chance: drawn(), db: first.db, now: first.now });
  const tookMs = second.run();
  assert.ok(tookMs < 12 * MINUTE_MS, `${tookMs / MINUTE_MS} minutes`);
  assert.ok(first.log.length + second.log.length < 80);
  assert.ok(countOf(second, 'host_failing') > 900);
});

test('failing: a URL found after the host was abandoned is requested normally', () => {
  let isDown = true;
  const agent = agentOf(() => (isDown ? { fails: 'connection' } : found), 1200);
  agent.run();
  assert.equal(countOf(agent, 'connection'), 1200);
  agent.find(page('later'));
  agent.run(5000);
  isDown = false;
  agent.run();
  assert.equal(agent.pages()[page('later')], 200);
});
