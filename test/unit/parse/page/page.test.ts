import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePage } from '../../../../agent/parse/page/page.ts';
import { absent, bytesOf, independentCases } from '../../url/independent-cases.ts';

interface LinkRow {
  id: string;
  html?: string;
  html_b64?: string;
  gen?: string;
  contentType: string;
  base: string;
  links: { url: string; nofollow?: boolean }[];
}
interface MetaRow {
  base: string;
  html?: string;
  html_b64?: string;
  htmlGen?: { repeat: string; times: number; suffix: string };
  encoding?: string;
  expect?: string;
  url?: string | null;
  content?: string;
  limits?: { maxMs: number };
}

const linkRows = independentCases<LinkRow[]>('html_links.json');
const meta = independentCases<{ baseUrl: MetaRow[]; metaRefresh: MetaRow[] }>('html_meta.json');

/**
 * Rows that expect another extractor than this crawler needs: filters by text, pattern, file
 * extension or other elements and attributes (L0002 to L0052), links of any relation (L0091,
 * L0164), addresses in metadata (L0078), nofollow ignored (L0092, L0097), and documents inside
 * srcdoc (L0151).
 */
const OTHER_EXTRACTOR = new Set([
  ...['L0002', 'L0003', 'L0006', 'L0008', 'L0022', 'L0023', 'L0033', 'L0034', 'L0046', 'L0051'],
  ...['L0052', 'L0078', 'L0091', 'L0164', 'L0092', 'L0097', 'L0151'],
]);
/** Rows that expect embedded content, too. */
const EMBEDS = new Set(['L0059', 'L0068', 'L0075', 'L0083']);

function page(
  html: string | Uint8Array,
  options: { type?: string | null; linksMax?: number } = {},
) {
  const { type = 'text/html; charset=utf-8', ...rest } = options;
  const body = typeof html === 'string' ? Buffer.from(html) : html;
  return parsePage({ body, contentType: type, url: 'http://a.test/dir/page', ...rest });
}

const identities = (html: string) => page(html).links.map(({ identity }) => identity);

test('page: links are resolved and listed in document order, each identity once', () => {
  assert.deepEqual(
    identities(
      '<a href=b><a href="/c#x"><a href="./b"><a href="//d.test"><a href=""><a href="?q">',
    ),
    [
      ...['http://a.test/dir/b', 'http://a.test/c', 'http://d.test/'],
      ...['http://a.test/dir/page', 'http://a.test/dir/page?q'],
    ],
  );
});

test('page: a link has its host, and its own spelling if that differs', () => {
  const { links } = page('<a href="http://B.test./%7e"><a href=x>');
  assert.deepEqual(links, [
    { identity: 'http://b.test./~', fetchUrl: 'http://b.test./%7e', host: 'b.test' },
    { identity: 'http://a.test/dir/x', fetchUrl: null, host: 'a.test' },
  ]);
});

test('page: base applies to all links, before and after it', () => {
  const html = '<a href=1><base href="/b/"><a href=2>';
  assert.deepEqual(identities(html), ['http://a.test/b/1', 'http://a.test/b/2']);
  assert.equal(page(html).base, 'http://a.test/b/');
  assert.equal(page('<base href="javascript:x">').base, 'http://a.test/dir/page');
  assert.equal(page('<base href="http://a b/">').base, 'http://a.test/dir/page');
});

test('page: links that no crawler can request are counted, not followed', () => {
  const parsed = page(
    '<a href="java\nscript:x"><a href=mailto:x><a href="data:,x"><a href="http://">',
  );
  assert.deepEqual([parsed.links, parsed.refused], [[], 4]);
});

test('page: nofollow in meta robots removes all links', () => {
  const parsed = page('<a href=1><meta name=robots content=nofollow><a href=2>');
  assert.ok(parsed.nofollow && parsed.links.length === 0 && parsed.linksDropped === 0);
});

test('page: canonical is resolved, and also a link', () => {
  const parsed = page('<link rel=canonical href="/c%7e#x">');
  assert.equal(parsed.canonical, 'http://a.test/c~');
  assert.equal(parsed.links[0]?.identity, 'http://a.test/c~');
  assert.equal(page('<link rel=canonical href="mailto:x">').canonical, null);
});

test('page: links beyond the maximum are counted as dropped', () => {
  const html = Array.from({ length: 30 }, (_, n) => `<a href=${n}>`).join('');
  const parsed = page(html, { linksMax: 10 });
  assert.deepEqual([parsed.links.length, parsed.linksDropped], [10, 20]);
  const many = Array.from({ length: 101_000 }, (_, n) => `<a href=${n}>`).join('');
  const bounded = page(many);
  assert.deepEqual([bounded.links.length, bounded.linksDropped], [10_000, 91_000]);
});

test('page: URLs that no server accepts are counted, and never compared', () => {
  // Comparing them would be slow, because V8 compares the long common beginning first.
  const links = Array.from({ length: 1900 }, (_, n) => `<a href=${n}>`).join('');
  const parsed = page(`<base href="/${'x'.repeat(20_000)}/">${links}<a href="/short">`);
  assert.deepEqual([parsed.links.length, parsed.tooLong, parsed.linksDropped], [1, 1900, 0]);
});

test('page: the links of a page are limited to four million characters in total', () => {
  const links = Array.from({ length: 1000 }, (_, n) => `<a href=${n}>`).join('');
  const parsed = page(`<base href="http://a.test/${'x'.repeat(7900)}/">${links}`);
  const chars = parsed.links.reduce((sum, { identity }) => sum + identity.length, 0);
  assert.ok(chars >= 4_000_000 && chars < 4_008_000, `${chars}`);
  assert.equal(parsed.links.length + parsed.linksDropped, 1000);
});

test('page: content that is not HTML has a digest and no links', () => {
  for (const type of ['text/plain', 'application/pdf', 'image/svg+xml; charset=utf-8']) {
    const parsed = page('<a href=1>', { type });
    assert.deepEqual(parsed.links, []);
    assert.match(parsed.digest, /^sha256:[0-9a-f]{64}$/);
  }
  assert.equal(page('<a href=1>', { type: 'Application/XHTML+XML' }).links.length, 1);
  assert.equal(page('<p><a href=1>', { type: 'text/html charset=utf-8' }).links.length, 1);
  assert.equal(page('<p><a href=1>', { type: 'text/plain charset=utf-8' }).links.length, 0);
});

test('page: XHTML sent as XML has links, other XML has none', () => {
  const prolog =
    '<?xml version="1.0"?>\n<!-- <a> -->\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0">';
  for (const type of ['application/xml', 'text/xml; charset=utf-8']) {
    const links = (text: string) => page(text, { type }).links.length;
    assert.equal(links(`${prolog}<html xmlns="x"><a href="1"/><script/><a href="2"/></html>`), 2);
    assert.equal(links('<h:html xmlns:h="x"><a href="1"/></h:html>'), 1);
    assert.equal(links('<feed><html><a href="1"/></html></feed>'), 0);
    assert.equal(links('<htmlx><a href="1"/></htmlx>'), 0);
    assert.equal(links('<a href="1">'), 0);
    assert.equal(links(`<!--${'<html>'.repeat(10_000)}`), 0);
  }
});

test('page: without a type, HTML is recognised by its beginning', () => {
  assert.equal(page('\n <!DOCTYPE HTML><a href=1>', { type: null }).links.length, 1);
  assert.equal(page('\ufeff\ufeff<html><a href=1>', { type: null }).links.length, 1);
  assert.equal(page('%PDF <a href=1>', { type: null }).links.length, 0);
  assert.equal(page('<a href=1>', { type: 'nonsense' }).links.length, 1);
});

test('page: six charsets give the same path', () => {
  const bodies: [string, number[]][] = [
    ['big5', [0xa4, 0xa4]],
    ['gbk', [0xd6, 0xd0]],
    ['shift_jis', [0x92, 0x86]],
    ['euc-jp', [0xc3, 0xe6]],
    ['euc-kr', [0xf1, 0xe9]],
    ['utf-8', [0xe4, 0xb8, 0xad]],
  ];
  for (const [charset, bytes] of bodies) {
    const html = [`<meta charset=${charset}><a href=/`, '>'].map((part) => Buffer.from(part));
    const { links } = page(Buffer.concat([html[0]!, Buffer.from(bytes), html[1]!]), {
      type: 'text/html',
    });
    assert.deepEqual(links[0]?.identity, 'http://a.test/%E4%B8%AD', charset);
  }
});

test('independent cases: links of pages', { skip: absent(linkRows) }, () => {
  const plain = (url: string) => new URL(url).href.replace(/#.*/s, '');
  for (const row of linkRows!.filter(({ id }) => !OTHER_EXTRACTOR.has(id))) {
    const body =
      row.gen === undefined
        ? bytesOf(row.html, row.html_b64)
        : Buffer.from('<a href="/n">'.repeat(100_000));
    const { contentType, base: url } = row;
    const { links } = parsePage({ body, contentType, url, embeds: EMBEDS.has(row.id) });
    const found = links.map(({ identity, fetchUrl }) => fetchUrl ?? identity);
    const wanted = row.links.filter(({ nofollow }) => nofollow !== true);
    const expected = new Set(wanted.map(({ url }) => plain(url)));
    assert.deepEqual(found.toSorted(), [...expected].toSorted(), row.id);
  }
});

test('independent cases: bases and refreshes', { skip: absent(meta) }, () => {
  const parse = (row: MetaRow) => {
    const generated = row.htmlGen;
    const body = generated
      ? Buffer.from(generated.repeat.repeat(generated.times) + generated.suffix)
      : bytesOf(row.html, row.html_b64);
    const contentType = `text/html; charset=${row.encoding ?? 'utf-8'}`;
    return parsePage({ body, contentType, url: row.base });
  };
  const serialised = (url: string) => URL.parse(url)?.href ?? url;
  for (const row of meta!.baseUrl) {
    assert.equal(serialised(parse(row).base), serialised(row.expect!), row.html);
  }
  for (const row of meta!.metaRefresh.filter(({ content }) => content === undefined)) {
    // The HTML Standard drops a tag that the end of the file truncates; w3lib accepts it.
    if (row.html?.endsWith('"5;url=newpage"')) continue;
    assert.equal(parse(row).refresh, row.url, row.html);
  }
});

test('page: a long base counts for each link that is resolved against it', () => {
  const links = Array.from({ length: 2000 }, (_, k) => `<a href=${k}>`).join('');
  const html = `<base href="http://a.test/${'x'.repeat(60_000)}/">${links}`;
  const body = new TextEncoder().encode(html);
  const { tooLong, linksDropped } = parsePage({
    body,
    contentType: 'text/html',
    url: 'http://a.test/',
  });
  assert.equal(tooLong + linksDropped, 2000);
  assert.ok(tooLong <= 667, `at most forty million characters, but ${tooLong} links`);
});

for (const contentType of [
  '*/*',
  'unknown/unknown',
  'Application/Unknown; charset=utf-8',
  '"text/html"',
  'text/html/x',
]) {
  test(`page: the content of a body of type ${contentType} is inspected`, () => {
    const url = 'http://a.test/';
    const parse = (text: string) =>
      parsePage({ body: new TextEncoder().encode(text), contentType, url }).links.length;
    assert.equal(parse('<!doctype html><a href=next>'), 1);
    assert.equal(parse('plain <a href=next>'), 0);
  });
}
