// Tests reading sitemaps and feeds of every kind: compressed, damaged, too large, and files that
// are not sitemaps.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { SitemapOptions } from '../../../../agent/parse/sitemap/sitemap.ts';
import { SitemapXml } from '../../../../agent/parse/sitemap/sitemap-xml.ts';
import { read, urlset } from './sitemap-stage.ts';

async function urlsOf(body: string | Uint8Array, options: Partial<SitemapOptions> = {}) {
  const sitemap = await read(body, options);
  return sitemap && [sitemap.kind, ...sitemap.urls.map(({ identity }) => identity)];
}

const ATOM = `<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="/feed"/>
    <link rel="next" href="?page=2"/><entry><link href="1"/><link rel="edit" href="2"/>
    <link rel="alternate" href="http://b.test/3"/></entry></feed>`;

const GIVEN = `<?xml version="1.0"?><!-- <url> --><urlset><url title="a>b"><loc/><loc>
  http://a.test/1?a&amp;b&#x3d;<!-- c -->&lt;<![CDATA[&amp;]]>&gt</loc><x:loc>no</x:loc></url></no>
  <url><loc>http://a.test/2</url><sitemap><loc a='1' >http://a.test/<i>3</i></loc></sitemap></urlset>`;

test('sitemap: gives every loc of a urlset once, with entities, CDATA and blanks decoded', async () => {
  const body = urlset(
    'http://a.test/1',
    ' http://a.test/2?a=1&amp;b=2\n',
    '<![CDATA[http://a.test/3?a&b]]>',
    'http://a.test/1',
    '/relative',
    'mailto:x@a.test',
    '',
  );
  assert.deepEqual(await urlsOf(body), [
    'urls',
    'http://a.test/1',
    'http://a.test/2?a=1&b=2',
    'http://a.test/3?a&b',
    'http://a.test/relative',
  ]);
  assert.equal((await read(body))!.refused, 1);
  assert.equal((await read(body))!.isPartial, false);
});

test('sitemap: ignores loc of images and loc outside of an entry', async () => {
  const body = `<s:urlset xmlns:s="x" xmlns:image="y"><s:url><s:loc>http://a.test/1</s:loc>
    <image:image><image:loc>http://a.test/1.png</image:loc></image:image></s:url>
    <s:loc>http://a.test/astray</s:loc></s:urlset>`;
  assert.deepEqual(await urlsOf(body), ['urls', 'http://a.test/1']);
});

test('sitemap: gives the sitemaps that an index names', async () => {
  const body = `<sitemapindex><sitemap><loc>http://a.test/s1.xml.gz</loc></sitemap>
    <sitemap><loc>http://b.test/s2.xml</loc></sitemap></sitemapindex>`;
  const expected = ['index', 'http://a.test/s1.xml.gz', 'http://b.test/s2.xml'];
  assert.deepEqual(await urlsOf(body), expected);
});

test('sitemap: gives the links of RSS, RDF and Atom feeds', async () => {
  const rss = `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
    <link>http://a.test/</link><atom:link href="http://a.test/rss" rel="self"/>
    <item><title>x</title><link>http://a.test/1</link><guid>tag:1</guid></item>
    <item><link>http://a.test/2</link></item></channel></rss>`;
  assert.deepEqual(await urlsOf(rss), [
    'feed',
    'http://a.test/',
    'http://a.test/1',
    'http://a.test/2',
  ]);
  const rdf = `<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/">
    <item rdf:about="x"><link>http://a.test/1</link></item></rdf:RDF>`;
  assert.deepEqual(await urlsOf(rdf), ['feed', 'http://a.test/1']);
  assert.deepEqual(await urlsOf(ATOM), [
    'feed',
    'http://a.test/dir/sitemap.xml?page=2',
    'http://a.test/dir/1',
    'http://b.test/3',
  ]);
});

test('sitemap: reads plain text only if it is a declared sitemap, and only absolute lines', async () => {
  const text =
    '\n\nhttp://a.test/1\r\n  http://a.test/2  \r\nprose http://a.test/no\nhttps://b.test/3';
  const expected = ['text', 'http://a.test/1', 'http://a.test/2', 'https://b.test/3'];
  assert.deepEqual(await urlsOf(text, { declared: true }), expected);
  assert.equal(await urlsOf(text), null);
});

test('sitemap: reads gzip whatever the file name, and damaged gzip up to the damage', async () => {
  const locs = Array.from({ length: 5000 }, (_, n) => `http://a.test/${n}/${Math.sin(n)}`);
  const packed = gzipSync(urlset(...locs));
  assert.equal((await read(packed))!.urls.length, 5000);
  const broken = (await read(packed.subarray(0, packed.length / 2)))!;
  assert.ok(broken.urls.length > 1000 && broken.urls.length < 4000, `${broken.urls.length}`);
  assert.equal(broken.isPartial, true);
  assert.equal(await read(packed.subarray(0, 12)), null);
  const followed = Buffer.concat([
    gzipSync(urlset('http://a.test/1')),
    Buffer.from('\r\n<!-- -->'),
  ]);
  assert.equal((await read(followed))!.urls.length, 1);
});

test('sitemap: rejects pages, images and other content, and ignores a broken end', async () => {
  for (const text of [
    '',
    '   ',
    '<html><a href="/x">',
    '<svg><loc>http://a.test/</loc></svg>',
    '{}',
  ]) {
    assert.equal(await read(text), null, text);
  }
  assert.equal(await read(new Uint8Array([0xff, 0xd8, 0xff, 0xe0])), null);
  const cut = urlset('http://a.test/1', 'http://a.test/2').slice(0, -40);
  assert.equal((await urlsOf(cut))?.[1], 'http://a.test/1');
  const deep = `<urlset>${'<a>'.repeat(10_000)}`;
  assert.equal(await read(deep), null);
});

test('sitemap: detects the encoding by byte order mark or declaration', async () => {
  const text = urlset('http://a.test/é');
  const expected = ['urls', 'http://a.test/%C3%A9'];
  assert.deepEqual(await urlsOf(`\ufeff${text}`), expected);
  assert.deepEqual(await urlsOf(Buffer.from(`\ufeff${text}`, 'utf16le')), expected);
  const latin = Buffer.from(text.replace('UTF-8', 'ISO-8859-1'), 'latin1');
  assert.deepEqual(await urlsOf(latin), expected);
});

test('sitemap: names of JavaScript properties are not root elements', async () => {
  for (const name of ['constructor', 'toString', '__proto__']) {
    assert.equal(await read(`<${name}><item><link>http://a.test/</link></item></${name}>`), null);
  }
});

test('sitemap: ignores a truncated URL', async () => {
  const cut = urlset('http://a.test/1', 'http://a.test/2').replace(/2<.*/s, '2');
  assert.deepEqual(await urlsOf(cut), ['urls', 'http://a.test/1']);
  const lines = 'http://a.test/1\nhttp://a.test/2';
  const first = { declared: true, bytesMax: lines.length - 1 };
  assert.deepEqual(await urlsOf(lines, first), ['text', 'http://a.test/1']);
  // The URL would be short enough once decoded.
  const long = `http://a.test/${'&amp;'.repeat(5000)}`;
  assert.deepEqual(await urlsOf(urlset(long, 'http://a.test/2')), ['urls', 'http://a.test/2']);
  const packed = urlset(`http://a.test/${'\u00e9'.repeat(7000)}`);
  assert.deepEqual(await urlsOf(packed), ['urls']);
});

for (const chars of [1, 2, 3, 7, 50]) {
  test(`sitemap: pieces of ${chars} characters give the same result as the whole`, () => {
    for (const text of [GIVEN, ATOM]) {
      const whole: string[] = [];
      const pieces: string[] = [];
      const one = new SitemapXml((url) => whole.push(url));
      one.write(text);
      const other = new SitemapXml((url) => pieces.push(url));
      for (let at = 0; at < text.length; at += chars) other.write(text.slice(at, at + chars));
      assert.equal(one.end(), other.end());
      assert.deepEqual(pieces, whole);
      assert.equal(whole.length, text === ATOM ? 3 : 2, whole.join());
    }
  });
}
