// Tests how the pipeline handles links, redirects and the directives of a response, with a fetcher
// that answers without a network.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArchivedPayload, Capture } from '../../../agent/archive/record/capture.ts';
import type { PageRequest } from '../../../agent/core/protocol/effects.ts';
import { AddressGuard } from '../../../agent/fetch/address/address-guard.ts';
import { BodyBudget } from '../../../agent/fetch/body/body-budget.ts';
import type { FetchRequest, FetchResponse } from '../../../agent/fetch/fetch.ts';
import { parseDocument } from '../../../agent/parse/document.ts';
import { PagePipeline, type PipelineParts } from '../../../agent/pipeline/page-pipeline.ts';
import { parseRobots } from '../../../agent/robots/robots-txt.ts';
import { IdentityRules } from '../../../agent/url/identity-rules.ts';

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

/** How the last response was to be read, and its maximum size. */
let asked: Pick<FetchRequest, 'bodyBytesMax'> & { readonly readAs: FetchRequest['kind'] };
/** The headers of the last request that the pipeline chose. */
let conditions: FetchRequest['headers'];

async function linksOf(
  html: string,
  rest: Partial<FetchResponse> = {},
  url = 'http://a.test/',
  depth = 0,
  more: Partial<PageRequest> = {},
) {
  const outcome = await outcomeOf(html, rest, url, depth, 'page', more);
  assert.ok(outcome.kind === 'response');
  return outcome;
}

function outcomeOf(
  html: string,
  rest: Partial<FetchResponse>,
  url: string,
  depth: number,
  kind: PageRequest['kind'],
  more: Partial<PageRequest> = {},
  parts: Partial<PipelineParts> = {},
) {
  const pipeline = new PagePipeline({
    fetcher: {
      fetch: async ({ kind: readAs, bodyBytesMax, headers }) => {
        asked = { readAs, bodyBytesMax };
        conditions = headers;
        return responseOf(rest, html);
      },
      close: async () => {},
    },
    parse: (input) => parseDocument(input),
    inScope: (host, { url: identity, sitemap = false }) =>
      host === 'a.test' && (sitemap || !identity.endsWith('.txt')),
    admits: ({ url, fetchUrl = url }) => fetchUrl.length <= 100,
    isOfCrawl: (host) => host === 'a.test' || host === 'b.test',
    identify: (found) => rules.apply(found),
    productToken: 'mybot',
    embeds: false,
    bodyBytesMax: 1000,
    bodies: new BodyBudget(),
    sitemapsOf: (body, fileUrl) => parseRobots(body, '*', fileUrl).sitemaps,
    mayWrite: () => true,
    isForbidden: (asked) => guard.checkUrl(new URL(asked)) !== null,
    ...parts,
  });
  const request: PageRequest = {
    id: 1,
    kind,
    host: 'a.test',
    url,
    fetchUrl: url,
    depth,
    attempts: 0,
    ...more,
  };
  return pipeline.run(request);
}

test('pipeline: links with one identity are one link, requested in the form found first', async () => {
  const { links, outOfScope } = await linksOf(
    '<a href="/x?v=1"><a href="/x?v=2"><a href="/x"><a href="/y?v=1&w"><a href="http://b.test/">',
  );
  assert.deepEqual(links, [
    { url: 'http://a.test/x', host: 'a.test', fetchUrl: 'http://a.test/x?v=1' },
    { url: 'http://a.test/y?w', host: 'a.test', fetchUrl: 'http://a.test/y?v=1&w' },
  ]);
  assert.equal(outOfScope, 1);
});

test('pipeline: many long links are checked in parts, and the event loop runs in between', async () => {
  const query = 'v=1&'.repeat(500);
  const html = Array.from({ length: 400 }, (_, n) => `<a href="/${n}?${query}">`).join('');
  let rounds = 0;
  let isOver = false;
  const count = () => {
    rounds++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { links } = await linksOf(html);
  isOver = true;
  assert.equal(links.length, 400);
  const pieces = (400 * query.length) / (64 * 1024);
  assert.ok(rounds >= pieces - 1, `${rounds} rounds for ${pieces} pieces`);
});

test('pipeline: a redirect to the identity of its page names the form to request next', async () => {
  const movedTo = async (location: string, url?: string) => {
    const { links, outOfScope, moved } = await linksOf('', { status: 302, location }, url);
    return { moved: moved ?? null, links: links.length, outOfScope };
  };
  const to = (moved: string) => ({ moved, links: 0, outOfScope: 0 });
  assert.deepEqual(await movedTo('/%7Eu/', 'http://a.test/~u/'), to('http://a.test/%7Eu/'));
  assert.deepEqual(await movedTo('/~u/', 'http://a.test/~u/'), to('http://a.test/~u/'));
  assert.deepEqual(await movedTo('/?jsessionid=1'), to('http://a.test/?jsessionid=1'));
  // A form that may not be requested is not followed.
  const long = `/?jsessionid=${'1'.repeat(100)}`;
  assert.deepEqual(await movedTo(long), { moved: null, links: 0, outOfScope: 1 });
  const other = await linksOf('', { status: 302, location: '/b?jsessionid=1' });
  assert.equal(other.moved, undefined);
  assert.deepEqual(other.links, [
    {
      url: 'http://a.test/b',
      host: 'a.test',
      fetchUrl: 'http://a.test/b?jsessionid=1',
      redirect: true,
    },
  ]);
});

test('pipeline: a Refresh header gives a link, like the meta element', async () => {
  const of = async (refresh: string, html = '', tag = '') =>
    (await linksOf(html, { headers: { refresh, 'x-robots-tag': tag } })).links;
  const next = { url: 'http://a.test/next', host: 'a.test' };
  assert.deepEqual(await of('5; url=/next'), [next]);
  assert.deepEqual(await of("0;URL='/next'", '<a href=/next>'), [next]);
  assert.deepEqual(await of('5'), []);
  assert.deepEqual(await of('0; url=/next', '', 'nofollow'), []);
  assert.deepEqual(await of('0; url=/next', '<meta name=robots content=nofollow>'), []);
});

test('pipeline: X-Robots-Tag and meta elements forbid links to the crawlers that they name', async () => {
  const html = '<a href=/x>';
  const by = async (...tags: string[]) =>
    (await linksOf(html, { headers: { 'x-robots-tag': tags } })).links.length;
  assert.equal(await by('noindex'), 1);
  assert.equal(await by('otherbot: nofollow'), 1);
  assert.equal(await by('nofollow'), 0);
  assert.equal(await by('MyBot: none'), 0);
  // A name does not apply to the next field.
  assert.equal(await by('otherbot: noindex', 'nofollow'), 0);
  assert.equal(await by('mybot: noindex', 'otherbot: nofollow'), 1);
  assert.equal((await linksOf(`<meta name=mybot content=nofollow>${html}`)).links.length, 0);
  const redirect = { status: 301, location: '/z', headers: { 'x-robots-tag': 'nofollow' } };
  assert.equal((await linksOf(html, redirect)).links.length, 1);
});

test('pipeline: the outcome has the canonical form, noindex and noarchive of the page', async () => {
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
  // If the body was not read, only the header counts.
  const skipped = { skipped: 'type', contentType: 'application/pdf' } as const;
  const both = { ...nothing, noindex: true, noarchive: true };
  assert.deepEqual(await told('', 'none, noarchive', skipped), both);
});

test('pipeline: a sitemap gives its URLs in scope, and an index that is too deep gives none', async () => {
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

test('pipeline: at most 1,000 files of an index are followed, and a note reports the rest', async () => {
  const files = Array.from({ length: 1001 }, (_, n) => `<sitemap><loc>/${n}</loc></sitemap>`);
  const of = (count: number) =>
    linksOf(`<sitemapindex>${files.slice(0, count).join('')}</sitemapindex>`, {
      contentType: 'text/xml',
    });
  const [all, more] = [await of(1000), await of(1001)];
  assert.deepEqual([all.links.length, all.note], [1000, null]);
  assert.deepEqual([more.links.length, more.note], [1000, 'links_dropped']);
});

test('pipeline: text is read as a list of URLs if it is a declared sitemap', async () => {
  const plain = { contentType: 'text/plain' };
  const text = 'http://a.test/1\nhttp://a.test/2\n';
  assert.equal((await linksOf(text, plain)).links.length, 0);
  assert.equal(
    (await linksOf(text, plain, 'http://a.test/', 1, { sitemap: true })).links.length,
    2,
  );
});

const SITEMAP = { sitemap: true } as const;

test('pipeline: a declared sitemap of any type is read up to 50 MiB, a page is not', async () => {
  const page = await linksOf('', {}, 'http://a.test/s');
  assert.deepEqual(asked, { readAs: 'page', bodyBytesMax: 1000 });
  const urlset = '<urlset><url><loc>http://a.test/1</loc></url></urlset>';
  const odd = { contentType: 'application/octet-stream' };
  const { links } = await linksOf(urlset, odd, 'http://a.test/s', 0, SITEMAP);
  assert.deepEqual(asked, { readAs: 'robots', bodyBytesMax: 50 * 1024 ** 2 });
  assert.deepEqual([page.links.length, links.length], [0, 1]);
  // A referrer of robots.txt alone is not sufficient.
  const named = { referrer: 'http://a.test/robots.txt' };
  await linksOf('', {}, 'http://a.test/s', 0, named);
  assert.equal(asked.bodyBytesMax, 1000);
});

test('pipeline: text that a robots.txt names as a sitemap later is requested without conditions', async () => {
  const none = { bytes: 1, redirectTo: null, fetchedAt: 1, durationMs: 1, error: null };
  const known = { ...none, status: 200, digest: 'sha256:1', etag: '"1"' };
  const asks = async (contentType: string, more: Partial<PageRequest>, path = 's') => {
    const previous = { ...known, contentType };
    await linksOf('', {}, `http://a.test/${path}`, 0, { previous, ...more });
    return conditions?.['if-none-match'] ?? null;
  };
  // The earlier round may have read it as a page, so the answer 304 would hide its URLs.
  assert.equal(await asks('text/plain', SITEMAP), null);
  assert.equal(await asks('text/plain', {}), '"1"');
  assert.equal(await asks('text/xml', SITEMAP), '"1"');
  assert.equal(await asks('application/gzip', SITEMAP, 's.txt.gz'), '"1"');
});

test('pipeline: with an archive, only a page whose body it has is requested with conditions', async () => {
  const none = { bytes: 1, redirectTo: null, fetchedAt: 1, durationMs: 1, error: null };
  const page = { ...none, status: 200, contentType: 'text/html', digest: 'sha256:1', etag: '"1"' };
  const previous = { ...page, payload: 'P', warcFile: 'a2-1.warc.gz', warcOffset: 7 };
  const raw = { url: '', requestHead: '', responseHead: '', truncated: null, body: [] };
  const captures: Capture[] = [];
  const asksWith = async (original: ArchivedPayload | null, status: number) => {
    const append = async (capture: Capture) => {
      captures.push(capture);
      return { file: 'f', offset: 0, end: 1, indexEnd: 1 };
    };
    const archive = { append, originalOf: async () => original };
    const more = { previous, fetchUrl: 'http://a.test/~ann/' };
    const url = 'http://a.test/%7Eann/';
    const outcome = await outcomeOf('', { status, raw }, url, 0, 'page', more, { archive });
    assert.ok(outcome.kind === 'response');
    const condition = conditions?.['if-none-match'] ?? null;
    return { condition, status: outcome.status, previous: captures.at(-1)?.previous ?? null };
  };
  // The record has another form of the URL than this request.
  const original = { payload: 'P', url: 'http://a.test/%7Eann/', date: 'D', file: 'a1-1.warc.gz' };
  const kept = await asksWith(original, 304);
  assert.deepEqual(kept, { condition: '"1"', status: 200, previous: original });
  const lost = await asksWith(null, 200);
  assert.deepEqual(lost, { condition: null, status: 200, previous: null });
  const odd = await asksWith(null, 304);
  assert.deepEqual(odd, { condition: null, status: 304, previous: null });
});

test('pipeline: the archive names depth and attempt of a page, not of a test of its host', async () => {
  const raw = { url: '', requestHead: '', responseHead: '', truncated: null, body: [] };
  const namesOf = async (more: Partial<PageRequest>) => {
    const captures: Capture[] = [];
    const append = async (capture: Capture) => {
      captures.push(capture);
      return { file: 'f', offset: 0, end: 1, indexEnd: 1 };
    };
    const archive = { append, originalOf: async () => null };
    await outcomeOf('', { raw }, 'http://a.test/', 3, 'page', more, { archive });
    return captures[0]?.metadata.map(([name]) => name);
  };
  assert.deepEqual(await namesOf({}), ['depth', 'attempt', 'fetchTimeMs']);
  assert.deepEqual(await namesOf({ isTest: true }), ['fetchTimeMs']);
});

test('pipeline: the X-Robots-Tag of a 304 is added to the directives of the page', async () => {
  const none = { bytes: 1, redirectTo: null, fetchedAt: 1, durationMs: 1, error: null };
  const page = { ...none, status: 200, contentType: 'text/html', digest: 'sha256:1', etag: '"1"' };
  const previous = { ...page, noindex: true as const };
  const headers = { 'x-robots-tag': 'noarchive, nofollow' };
  const outcome = await linksOf('', { status: 304, headers }, 'http://a.test/', 0, { previous });
  assert.deepEqual([outcome.status, outcome.noindex, outcome.noarchive], [200, true, true]);
  const plain = await linksOf('', { status: 304 }, 'http://a.test/', 0, { previous: page });
  assert.deepEqual([plain.noindex, plain.noarchive], [undefined, undefined]);
});

test('pipeline: the sitemaps that an index names are declared, the URLs of a sitemap are not', async () => {
  const xml = { contentType: 'application/xml' };
  const files = ['1', '2.txt']
    .map((n) => `<sitemap><loc>http://a.test/${n}</loc></sitemap>`)
    .join('');
  const index = await linksOf(`<sitemapindex>${files}</sitemapindex>`, xml);
  assert.deepEqual(
    index.links,
    ['1', '2.txt'].map((n) => ({ url: `http://a.test/${n}`, host: 'a.test', ...SITEMAP })),
  );
  const urlset = '<urlset><url><loc>http://a.test/1</loc></url></urlset>';
  const { links } = await linksOf(urlset, xml, 'http://a.test/', 0, SITEMAP);
  assert.deepEqual(links, [{ url: 'http://a.test/1', host: 'a.test' }]);
});

test('pipeline: the target of a redirect of a declared sitemap is declared, other targets are not', async () => {
  const to = async (rest: Partial<FetchResponse>, more: Partial<PageRequest>, url?: string) =>
    (await linksOf('', rest, url, 0, more)).links.map(({ url: _, host: __, ...about }) => about);
  const moved = { status: 301, location: '/real' };
  assert.deepEqual(await to(moved, SITEMAP), [{ redirect: true, ...SITEMAP }]);
  assert.deepEqual(await to(moved, {}), [{ redirect: true }]);
  // The name of the file also declares it.
  const packed = 'http://a.test/s.xml.gz';
  assert.deepEqual(await to(moved, {}, packed), [{ redirect: true, ...SITEMAP }]);
  const refresh = { headers: { refresh: '0; url=/real' } };
  assert.deepEqual(await to(refresh, SITEMAP), [SITEMAP]);
  assert.deepEqual(await to(refresh, {}), [{}]);
});

test('pipeline: gives the sitemaps of a robots.txt that are in scope', async () => {
  const robots = 'Sitemap: /s.txt\nSitemap: http://b.test/t.xml\nsitemap: ftp://a.test/u.xml\n';
  const url = 'http://a.test/robots.txt';
  const outcome = await outcomeOf(robots, {}, url, 0, 'robots');
  assert.ok(outcome.kind === 'robots' && outcome.answer.kind === 'rules');
  assert.deepEqual(outcome.answer.sitemaps, [
    { url: 'http://a.test/s.txt', host: 'a.test', ...SITEMAP },
  ]);
});

async function answerTo(location: string) {
  const rest = { status: 302, location };
  const outcome = await outcomeOf('', rest, 'http://a.test/robots.txt', 0, 'robots');
  assert.ok(outcome.kind === 'robots');
  return outcome.answer;
}

test('pipeline: a robots.txt that redirects to a forbidden address is unreachable, not missing', async () => {
  const none = { reason: 'blocked_address', status: null, retryAfterMs: null };
  const shut = { kind: 'unreachable', ...none, error: 'blocked_address' };
  assert.deepEqual(await answerTo('http://10.0.0.1/robots.txt'), shut);
  assert.deepEqual(await answerTo('http://localhost/robots.txt'), shut);
  for (const host of ['a.test', 'b.test', 'c.test']) {
    assert.deepEqual(await answerTo(`http://${host}:25/robots.txt`), shut);
  }
  assert.equal((await answerTo('http://b.test/robots.txt')).kind, 'redirect');
});

test('pipeline: a redirect to the robots.txt of another crawled host is followed, whatever the scope of pages', async () => {
  // The scope excludes `.txt` and all pages of b.test.
  const location = 'http://b.test:81/robots.txt';
  const followed = { kind: 'redirect', location, host: 'b.test', origin: 'http://b.test:81' };
  assert.deepEqual(await answerTo(location), followed);
  const within = { kind: 'redirect', location: 'http://a.test/r', host: 'a.test' };
  assert.deepEqual(await answerTo('/r'), within);
});

test('pipeline: a robots.txt whose target is not requested counts as missing, with the reason', async () => {
  for (const [location, why] of [
    ['http://c.test/robots.txt', 'out of scope'],
    ['http://b.test/robots.txt?x', 'which is not /robots.txt'],
    ['http://b.test/r.txt', 'which is not /robots.txt'],
  ] as const) {
    const reason = `redirected to ${location}, ${why}`;
    assert.deepEqual(await answerTo(location), { kind: 'allowAll', reason });
  }
});

test('pipeline: a robots.txt that redirects to a URL too long for a row counts as missing', async () => {
  const kindOf = async (location: string) => (await answerTo(location)).kind;
  // The escaped URL is six times as long.
  assert.equal(await kindOf(`http://b.test/${'\u00e9'.repeat(8000)}`), 'allowAll');
  assert.equal(await kindOf(`/${'r'.repeat(8000)}`), 'allowAll');
  assert.equal(await kindOf(`http://${'b'.repeat(300)}.test/`), 'allowAll');
  assert.equal(await kindOf(`/${'r'.repeat(7000)}`), 'redirect');
});
