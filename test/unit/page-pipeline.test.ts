// The pipeline over a fetcher that answers from a table: what becomes of links, redirects and the
// directives of a response, with nothing on the network.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PageRequest } from '../../agent/core/effects.ts';
import type { FetchResponse } from '../../agent/fetch/fetch.ts';
import { PagePipeline } from '../../agent/page-pipeline.ts';
import { parsePage } from '../../agent/parse/page.ts';
import { IdentityRules } from '../../agent/url/identity-rules.ts';

const rules = new IdentityRules({ dropParameters: ['v'], dropTracking: false, dropSessions: true });

function responseOf(rest: Partial<FetchResponse>, html: string): FetchResponse {
  const plain = {
    kind: 'response' as const,
    status: 200,
    headers: {},
    contentType: 'text/html; charset=utf-8',
    body: new Uint8Array(Buffer.from(html)),
    bytes: html.length,
    truncated: false,
    skipped: null,
    location: null,
    retryAfterMs: null,
    ip: null,
    durationMs: 1,
    endedAt: 1,
    raw: null,
  };
  return { ...plain, ...rest };
}

async function linksOf(html: string, rest: Partial<FetchResponse> = {}, url = 'http://a.test/') {
  const pipeline = new PagePipeline({
    fetcher: { fetch: async () => responseOf(rest, html), close: async () => {} },
    parse: async (input) => parsePage(input),
    inScope: (host) => host === 'a.test',
    identify: (found) => rules.apply(found),
    productToken: 'mybot',
    embeds: false,
    bodyBytesMax: 1000,
    mayWrite: () => true,
  });
  const request: PageRequest = {
    id: 1,
    kind: 'page',
    host: 'a.test',
    url,
    fetchUrl: url,
    depth: 0,
    attempts: 0,
  };
  const outcome = await pipeline.run(request);
  assert.ok(outcome.kind === 'response');
  return outcome;
}

test('pipeline: links of one identity are one, and are requested as first found', async () => {
  const { links, outOfScope } = await linksOf(
    '<a href="/x?v=1"><a href="/x?v=2"><a href="/x"><a href="/y?v=1&w"><a href="http://b.test/">',
  );
  assert.deepEqual(links, [
    { url: 'http://a.test/x', host: 'a.test', fetchUrl: 'http://a.test/x?v=1' },
    { url: 'http://a.test/y?w', host: 'a.test', fetchUrl: 'http://a.test/y?v=1&w' },
  ]);
  assert.equal(outOfScope, 1);
});

test('pipeline: a redirect to the same page with a session is a page of its own', async () => {
  const location = '/?jsessionid=1';
  const first = await linksOf('', { status: 302, location });
  assert.deepEqual(first.links, [
    { url: 'http://a.test/?jsessionid=1', host: 'a.test', redirect: true },
  ]);
  const other = await linksOf('', { status: 302, location: '/b?jsessionid=1' });
  assert.deepEqual(other.links, [
    {
      url: 'http://a.test/b',
      host: 'a.test',
      fetchUrl: 'http://a.test/b?jsessionid=1',
      redirect: true,
    },
  ]);
  // A site that gives a new session each time comes to an end.
  const again = await linksOf('', { status: 302, location: '/?jsessionid=2' }, first.links[0]!.url);
  assert.equal(again.links[0]?.url, 'http://a.test/');
});

test('pipeline: X-Robots-Tag and meta elements forbid links to whom they name', async () => {
  const html = '<a href=/x>';
  const by = async (tag: string) =>
    (await linksOf(html, { headers: { 'x-robots-tag': tag } })).links.length;
  assert.equal(await by('noindex'), 1);
  assert.equal(await by('otherbot: nofollow'), 1);
  assert.equal(await by('nofollow'), 0);
  assert.equal(await by('MyBot: none'), 0);
  assert.equal((await linksOf(`<meta name=mybot content=nofollow>${html}`)).links.length, 0);
  const redirect = { status: 301, location: '/z', headers: { 'x-robots-tag': 'nofollow' } };
  assert.equal((await linksOf(html, redirect)).links.length, 1);
});
