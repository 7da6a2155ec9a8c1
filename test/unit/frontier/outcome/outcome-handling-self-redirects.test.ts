// Tests redirects that lead to the identity of the requested page: the page is requested again in
// the other form, a bounded number of times, and the last response is the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { type Answer, OneAgent } from '../one-agent.ts';

const URL_U = 'http://a.test/~u/';
const FORM_U = 'http://a.test/%7Eu/';

/** Answers each request by the number of previous requests for its URL. */
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

test('self redirects: requests the other form after the delay, and its response is the page', () => {
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

test('self redirects: requests the same form again, because a cookie may change the answer', () => {
  const agent = agentOf((form, n) => (n <= 5 ? { status: 302, moved: form } : { status: 200 }));
  agent.find('http://a.test/wall');
  agent.run();
  assert.equal(agent.log.length, 6);
  assert.deepEqual(agent.pages(), { 'http://a.test/wall': 200 });
  agent.checkPoliteness();
});

test('self redirects: the sixth one fails the page as a loop, and other pages continue', () => {
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

test('self redirects: attempts and Retry-After are counted separately for each form', () => {
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

test('self redirects: the count of followed redirects survives a restart, and a new round resets it', () => {
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
  second.store.requeueKnown('a.test', 10);
  second.store.commit(false);
  const third = agentOf(loop, db);
  third.run();
  assert.equal(third.log.length, 6);
});

test('cookie walls: when redirects lead back to a page, it is requested again with the cookie', () => {
  let hasCookie = false;
  const agent = agentOf((form) => {
    if (form === 'http://a.test/') {
      if (!hasCookie) return { status: 302, redirectTo: 'http://a.test/wall?to=/' };
      return { status: 200, links: ['http://a.test/1', 'http://a.test/2'] };
    }
    if (!form.includes('wall')) return { status: 200 };
    hasCookie = true;
    return form.endsWith('/')
      ? { status: 302, redirectTo: 'http://a.test/wall2', bringsCookies: true }
      : { status: 302, redirectTo: 'http://a.test/', bringsCookies: true };
  });
  agent.find('http://a.test/');
  agent.run();
  assert.deepEqual(agent.pages(), {
    'http://a.test/': 200,
    'http://a.test/1': 200,
    'http://a.test/2': 200,
    'http://a.test/wall2': 302,
    'http://a.test/wall?to=/': 302,
  });
  agent.checkPoliteness();
  agent.checkAccounts();
});

for (const [name, brings, requests] of [
  ['immediately without cookies', false, 2],
  ['after five more requests for each page with cookies', true, 12],
] as const) {
  test(`cookie walls: redirects in a circle end ${name}`, () => {
    const cookie = brings ? { bringsCookies: true as const } : {};
    const agent = agentOf((form) => {
      const redirectTo = form === 'http://a.test/' ? 'http://a.test/wall' : 'http://a.test/';
      return { status: 302, redirectTo, ...cookie };
    });
    agent.find('http://a.test/');
    agent.run();
    assert.equal(agent.log.length, requests);
    assert.deepEqual(agent.pages(), { 'http://a.test/': 302, 'http://a.test/wall': 302 });
    agent.checkAccounts();
  });
}

test('cookie walls: a page behind an endless wall is requested six times at most', () => {
  let n = 0;
  const agent = agentOf((form) =>
    form === 'http://a.test/'
      ? { status: 302, redirectTo: `http://a.test/wall?${++n}` }
      : { status: 302, redirectTo: 'http://a.test/', bringsCookies: true },
  );
  agent.find('http://a.test/');
  agent.run();
  assert.equal(agent.timesOf('http://a.test/').length, 6);
  assert.equal(agent.pages()['http://a.test/'], 302);
  agent.checkAccounts();
});

test('cookie walls: a redirect back in another form needs no cookie', () => {
  const agent = agentOf((form) => {
    if (form === FORM_U) return { status: 302, redirectTo: 'http://a.test/hop' };
    return form === 'http://a.test/hop' ? { status: 302, redirectTo: URL_U } : { status: 200 };
  });
  agent.find({ url: URL_U, fetchUrl: FORM_U });
  agent.run();
  assert.deepEqual(forms(agent), [FORM_U, 'http://a.test/hop', URL_U]);
  assert.equal(agent.pages()[URL_U], 200);
});

test('cookie walls: the pending request for the page survives a restart', () => {
  const db = openInMemory();
  const wall = (form: string): Answer =>
    form === 'http://a.test/'
      ? { status: 302, redirectTo: 'http://a.test/wall' }
      : { status: 302, redirectTo: 'http://a.test/', bringsCookies: true };
  const first = agentOf(wall, db);
  first.find('http://a.test/');
  first.run(1100);
  assert.equal(first.log.length, 2);
  const second = agentOf(() => ({ status: 200 }), db);
  second.run();
  assert.deepEqual(second.pages(), { 'http://a.test/': 200, 'http://a.test/wall': 302 });
  second.checkAccounts();
});
