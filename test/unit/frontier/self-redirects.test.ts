// Redirects to the identity of their own page: the page is requested in the other form, a bounded
// number of times, and the last response is the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../agent/storage/database.ts';
import { type Answer, OneAgent } from './one-agent.ts';

const URL_U = 'http://a.test/~u/';
const FORM_U = 'http://a.test/%7Eu/';

/** Answers one URL at a time by the number of the request for it. */
function agentOf(answer: (form: string, n: number) => Answer, db = openInMemory()): OneAgent {
  const counts = new Map<string, number>();
  return new OneAgent({
    db,
    web: ({ url, fetchUrl }) => {
      const n = (counts.get(url) ?? 0) + 1;
      counts.set(url, n);
      return answer(fetchUrl, n);
    },
  });
}

function forms(agent: OneAgent): string[] {
  return agent.log.map(({ request }) => String(request.fetchUrl));
}

test('self redirects: the other form is requested after the delay, and its response is the page', () => {
  const agent = agentOf((form) =>
    form === FORM_U ? { status: 301, moved: URL_U } : { status: 200, links: ['http://a.test/x'] },
  );
  agent.find({ url: URL_U, fetchUrl: FORM_U });
  agent.run();
  assert.deepEqual(forms(agent), [FORM_U, URL_U, 'http://a.test/x']);
  assert.deepEqual(agent.pages(), { [URL_U]: 200, 'http://a.test/x': 200 });
  agent.checkPoliteness();
  agent.checkAccounts();
});

test('self redirects: the same form again may lead on, as behind a cookie', () => {
  const agent = agentOf((form, n) => (n <= 5 ? { status: 302, moved: form } : { status: 200 }));
  agent.find('http://a.test/wall');
  agent.run();
  assert.equal(agent.log.length, 6);
  assert.deepEqual(agent.pages(), { 'http://a.test/wall': 200 });
  agent.checkPoliteness();
});

test('self redirects: the sixth one fails the page as a loop, and others go on', () => {
  const agent = agentOf((form) =>
    form.includes('loop') ? { status: 302, moved: `${form}&` } : { status: 200 },
  );
  agent.find('http://a.test/loop?', 'http://a.test/b');
  agent.run();
  assert.deepEqual(agent.pages(), {
    'http://a.test/loop?': 'redirect_loop',
    'http://a.test/b': 200,
  });
  assert.equal(agent.log.length, 7);
  agent.checkAccounts();
});

test('self redirects: attempts and Retry-After of each form count for themselves', () => {
  const agent = agentOf((form, n) => {
    if (n === 1) return { status: 500 };
    if (n === 2) return { status: 302, moved: `${form}?s=1`, retryAfterMs: 30_000 };
    return n === 3 ? { status: 500 } : { status: 200 };
  });
  agent.find('http://a.test/p');
  agent.run();
  assert.deepEqual(
    agent.log.map(({ request }) => [String(request.fetchUrl), request.attempts]),
    [
      ['http://a.test/p', 0],
      ['http://a.test/p', 1],
      ['http://a.test/p?s=1', 0],
      ['http://a.test/p?s=1', 1],
    ],
  );
  assert.ok(agent.log[2]!.start - agent.log[1]!.end >= 30_000);
  assert.deepEqual(agent.pages(), { 'http://a.test/p': 200 });
});

test('self redirects: the redirects followed survive a restart, and a new round forgets them', () => {
  const db = openInMemory();
  const loop = (form: string): Answer => ({ status: 302, moved: form });
  const first = agentOf(loop, db);
  first.find('http://a.test/loop');
  first.run(3500);
  assert.equal(first.log.length, 4);
  const second = agentOf(loop, db);
  second.run();
  assert.equal(second.log.length, 2);
  assert.deepEqual(second.pages(), { 'http://a.test/loop': 'redirect_loop' });
  second.store.begin();
  second.store.beginRound(1);
  second.store.queueAgain('a.test', 10);
  second.store.commit(false);
  const third = agentOf(loop, db);
  third.run();
  assert.equal(third.log.length, 6);
});
