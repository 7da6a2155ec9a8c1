// The pipeline over a fetcher that answers from a table: what becomes of links, redirects and the
// directives of a response, with nothing on the network.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PageRequest } from '../../agent/core/effects.ts';
import { AddressGuard } from '../../agent/fetch/address-guard.ts';
import type { FetchResponse } from '../../agent/fetch/fetch.ts';
import { PagePipeline } from '../../agent/page-pipeline.ts';
import { parsePage } from '../../agent/parse/page.ts';
import { parseRobots } from '../../agent/robots/robots-txt.ts';
import { IdentityRules } from '../../agent/url/identity-rules.ts';

const guard = new AddressGuard({ allowPrivate: false });
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

async function linksOf(
  html: string,
  rest: Partial<FetchResponse> = {},
  url = 'http://a.test/',
  depth = 0,
) {
  const outcome = await outcomeOf(html, rest, url, depth, 'page');
  assert.ok(outcome.kind === 'response');
  return outcome;
}

function outcomeOf(
  html: string,
  rest: Partial<FetchResponse>,
  url: string,
  depth: number,
  kind: PageRequest['kind'],
) {
  const pipeline = new PagePipeline({
    fetcher: { fetch: async () => responseOf(rest, html), close: async () => {} },
    parse: async (input) => parsePage(input),
    inScope: (host, identity) => host === 'a.test' && !identity.endsWith('.txt'),
    isOfCrawl: (host) => host === 'a.test' || host === 'b.test',
    identify: (found) => rules.apply(found),
    productToken: 'mybot',
    embeds: false,
    bodyBytesMax: 1000,
    sitemapsOf: (body, fileUrl) => parseRobots(body, '*', fileUrl).sitemaps,
    isSitemap: (identity) => identity === 'http://a.test/listed',
    mayWrite: () => true,
    isForbidden: (asked) => guard.checkUrl(new URL(asked)) !== null,
  });
  const request: PageRequest = {
    id: 1,
    kind,
    host: 'a.test',
    url,
    fetchUrl: url,
    depth,
    attempts: 0,
  };
  return pipeline.run(request);
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

test('pipeline: what a page says of itself is told: canonical form, noindex, noarchive', async () => {
  const told = async (html: string, tag?: string, rest: Partial<FetchResponse> = {}) => {
    const headers = tag === undefined ? {} : { 'x-robots-tag': tag };
    const { canonical, noindex, noarchive } = await linksOf(html, { headers, ...rest });
    return { canonical, noindex, noarchive };
  };
  const nothing = { canonical: undefined, noindex: undefined, noarchive: undefined };
  assert.deepEqual(await told('<p>'), nothing);
  const canonical = '<link rel=canonical href="/c#x">';
  assert.deepEqual(await told(canonical), { ...nothing, canonical: 'http://a.test/c' });
  const far = `<link rel=canonical href="http://a.test/${'c'.repeat(9000)}">`;
  assert.deepEqual(await told(far), nothing);
  assert.deepEqual(await told('<meta name=robots content=noindex>'), { ...nothing, noindex: true });
  assert.deepEqual(await told('<meta name=MyBot content=noarchive>', 'other: noindex'), {
    ...nothing,
    noarchive: true,
  });
  assert.deepEqual(await told('<p>', 'mybot: noindex'), { ...nothing, noindex: true });
  // Of a body that was not read the header is all there is.
  const skipped = { skipped: 'type', contentType: 'application/pdf' } as const;
  const both = { ...nothing, noindex: true, noarchive: true };
  assert.deepEqual(await told('', 'none, noarchive', skipped), both);
});

test('pipeline: a sitemap gives its URLs in scope, an index too deep none', async () => {
  const xml = { contentType: 'application/xml' };
  const body =
    '<urlset><url><loc>http://a.test/1</loc></url><url><loc>http://b.test/2</loc></url></urlset>';
  const { links, outOfScope } = await linksOf(body, xml);
  assert.deepEqual(links, [{ url: 'http://a.test/1', host: 'a.test' }]);
  assert.equal(outOfScope, 1);
  const index = '<sitemapindex><sitemap><loc>http://a.test/s.xml</loc></sitemap></sitemapindex>';
  const at = async (depth: number) => (await linksOf(index, xml, 'http://a.test/', depth)).links;
  assert.deepEqual([(await at(1)).length, (await at(2)).length], [1, 0]);
});

test('pipeline: text is a list of URLs where it was named as a sitemap', async () => {
  const plain = { contentType: 'text/plain' };
  const text = 'http://a.test/1\nhttp://a.test/2\n';
  assert.equal((await linksOf(text, plain)).links.length, 0);
  assert.equal((await linksOf(text, plain, 'http://a.test/listed')).links.length, 2);
});

test('pipeline: the sitemaps of a robots.txt, in scope', async () => {
  const robots = 'Sitemap: /s.xml\nSitemap: http://b.test/t.xml\nsitemap: ftp://a.test/u.xml\n';
  const url = 'http://a.test/robots.txt';
  const outcome = await outcomeOf(robots, {}, url, 0, 'robots');
  assert.ok(outcome.kind === 'robots' && outcome.answer.kind === 'rules');
  assert.deepEqual(outcome.answer.sitemaps, [{ url: 'http://a.test/s.xml', host: 'a.test' }]);
});

async function answerTo(location: string) {
  const rest = { status: 302, location };
  const outcome = await outcomeOf('', rest, 'http://a.test/robots.txt', 0, 'robots');
  assert.ok(outcome.kind === 'robots');
  return outcome.answer;
}

test('pipeline: a robots.txt that leads to a forbidden address is out of reach, not missing', async () => {
  const none = { reason: 'blocked_address', status: null, retryAfterMs: null };
  const shut = { kind: 'unreachable', ...none, error: 'blocked_address' };
  assert.deepEqual(await answerTo('http://10.0.0.1/robots.txt'), shut);
  assert.deepEqual(await answerTo('http://localhost/robots.txt'), shut);
  for (const host of ['a.test', 'b.test', 'c.test']) {
    assert.deepEqual(await answerTo(`http://${host}:25/robots.txt`), shut);
  }
  assert.equal((await answerTo('http://b.test/robots.txt')).kind, 'redirect');
});

test('pipeline: the rules of another host of the crawl count, whatever pages are in scope', async () => {
  // `.txt` is excluded from the scope, and no page of b.test is in it.
  const location = 'http://b.test:81/robots.txt';
  const followed = { kind: 'redirect', location, host: 'b.test', origin: 'http://b.test:81' };
  assert.deepEqual(await answerTo(location), followed);
  const within = { kind: 'redirect', location: 'http://a.test/r', host: 'a.test' };
  assert.deepEqual(await answerTo('/r'), within);
});

test('pipeline: a robots.txt that nobody asks for counts as missing, and says why', async () => {
  for (const [location, why] of [
    ['http://c.test/robots.txt', 'out of scope'],
    ['http://b.test/robots.txt?x', 'which is not /robots.txt'],
    ['http://b.test/r.txt', 'which is not /robots.txt'],
  ] as const) {
    const reason = `redirected to ${location}, ${why}`;
    assert.deepEqual(await answerTo(location), { kind: 'allowAll', reason });
  }
});

test('pipeline: a robots.txt that leads to an address no row could carry counts as missing', async () => {
  const kindOf = async (location: string) => (await answerTo(location)).kind;
  // Escaped it is six times as long.
  assert.equal(await kindOf(`http://b.test/${'\u00e9'.repeat(8000)}`), 'allowAll');
  assert.equal(await kindOf(`/${'r'.repeat(8000)}`), 'allowAll');
  assert.equal(await kindOf(`http://${'b'.repeat(300)}.test/`), 'allowAll');
  assert.equal(await kindOf(`/${'r'.repeat(7000)}`), 'redirect');
});
