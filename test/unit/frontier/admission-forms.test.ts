// Tests that every rule about a request is applied to the form that the request sends, not to the
// identity of its URL.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { admission } from '../../../agent/frontier/admission.ts';
import type { Identity, RequestForm } from '../../../agent/url/crawl-url.ts';
import { OneAgent } from './one-agent.ts';

const LIMITS = { depthPerHost: 16, urlLength: 60, repeatedSegments: 5, everyPort: false };

test('forms: the compiler rejects an identity as a form, and a form as an identity', () => {
  const identity: Identity = 'http://a.test/~u/';
  const form: RequestForm = 'http://a.test/%7Eu/';
  // @ts-expect-error: an identity cannot be requested
  const sent: RequestForm = identity;
  // @ts-expect-error: a form does not identify a row
  const known: Identity = form;
  assert.deepEqual([sent, known], [identity, form]);
});

test('forms: robots.txt rules apply to the form that is sent', () => {
  const robots = 'User-agent: *\nDisallow: /*sessionid=\nDisallow: /only\nAllow: /only?utm_source=';
  const agent = new OneAgent({
    web: ({ kind }) => (kind === 'robots' ? { robots } : { status: 200 }),
    robots: true,
  });
  agent.find(
    { url: 'http://a.test/x', fetchUrl: 'http://a.test/x?sessionid=1' },
    { url: 'http://a.test/only', fetchUrl: 'http://a.test/only?utm_source=m' },
    'http://a.test/y',
  );
  agent.run();
  const requested = agent.log.map(({ request }) => String(request.fetchUrl));
  assert.deepEqual(requested, [
    'http://a.test/robots.txt',
    'http://a.test/only?utm_source=m',
    'http://a.test/y',
  ]);
  assert.deepEqual(agent.skipped(), { 'http://a.test/x': 'robots' });
  agent.checkAccounts();
});

test('forms: the length limit counts the characters that are sent', () => {
  const admit = admission(LIMITS);
  const url = 'http://a.test/x';
  const fetchUrl = `${url}?sid=${'0'.repeat(60)}`;
  assert.equal(admit({ url, depth: 0 }), null);
  assert.equal(admit({ url, fetchUrl, depth: 0 }), 'length');
});
