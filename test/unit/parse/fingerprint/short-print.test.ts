// Tests which pages of few words count as near-duplicates, and which do not although they look
// alike.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { Novelty } from '../../../../agent/frontier/outcome/novelty.ts';
import { shortPrintOf } from '../../../../agent/parse/fingerprint/short-print.ts';
import { parsePage } from '../../../../agent/parse/page/page.ts';
import { assertLinear } from '../../../checkers/linear-cost.ts';

const url = 'http://a.test/';
const hex = (n: number) => createHash('md5').update(String(n)).digest('hex');
const uuid = (n: number) => hex(n).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** The count of stale pages of a host after it has served these pages in sequence. */
function staleAfter(count: number, pageOf: (n: number) => { path: string; html: string }): number {
  const novelty = new Novelty();
  let stale = 0;
  for (let n = 0; n < count; n++) {
    const { path, html } = pageOf(n);
    const { digest, simhash } = parsePage({
      body: Buffer.from(html),
      contentType: 'text/html',
      url: `http://a.test${path}`,
    });
    stale = novelty.count('a.test', path, { digest, simhash }, stale);
  }
  return stale;
}

const traps: Readonly<Record<string, (n: number) => string>> = {
  'a request number': (n) => `<p>Sorry, nothing was found here. Request ${uuid(n)} was noted.</p>`,
  'a time': (n) => `<p>Not found, as of ${new Date(n * 98_765_432).toISOString()}. Go home.</p>`,
  'a number without letters': (n) =>
    `Error: no such page. Reference #${hex(n).replace(/\D/g, '7')}`,
  'the path': (n) => `<p>The requested URL /r${n} was not found on this server.</p>`,
  'a path that ends in a slash': (n) => `<p>We know of no such address: "/r${n}/". Sorry.</p>`,
  'the whole URL': (n) => `<p>Nothing is at http://a.test/r${n}, we are sorry.</p>`,
  'its links': (n) => `<p>Sorry, nothing is here today.</p><a href="/r${n * 7}">elsewhere</a>`,
  'the address of a counter': (n) => `<p>Nothing at all is here.<img src="/count.gif?${n}"></p>`,
  'a request number in a hundred words': (n) =>
    `<p>${'We looked everywhere and found nothing of the kind. '.repeat(11)} ${uuid(n)}</p>`,
};

for (const [what, html] of Object.entries(traps)) {
  test(`short print: pages that differ only by ${what} count as one page`, () => {
    const stale = staleAfter(60, (n) => ({ path: `/r${n}`, html: html(n) }));
    assert.equal(stale, 59);
  });
}

const honest: Readonly<Record<string, (n: number) => string>> = {
  'short numbers': (n) => `<p>Room ${n} is free, for ${n % 40} guests at most.</p>`,
  'a name': (n) => `<h1>w${n}</h1><p>This is a stub. Please help us to expand it.</p>`,
  pictures: (n) =>
    `<p>Our gallery: previous next home</p><img alt="" src="/IMG_2026${n + 1000}.jpg">`,
  'the order of words': (n) =>
    `<p>${['up', 'down', 'left', 'right', 'stop', 'go'].map((_, k, all) => all[(k + n) % 6])}</p>`,
  'a word in a hundred': (n) => `<p>${'lorem ipsum dolor sit '.repeat(25)} w${n}</p>`,
  nothing: (n) => `<a href="/${n}">on</a>`,
};

for (const [what, html] of Object.entries(honest)) {
  test(`short print: pages that differ by ${what} are not stale`, () => {
    const pages = what === 'the order of words' ? 6 : 60;
    assert.equal(
      staleAfter(pages, (n) => ({ path: `/${n}`, html: html(n) })),
      0,
    );
  });
}

test('short print: a text of fewer than five words has none', () => {
  assert.equal(shortPrintOf('<p>Not found, sorry, friend</p>', url), null);
  assert.equal(shortPrintOf('<p>. , -- ! ? *</p>', url), null);
  assert.notEqual(shortPrintOf('<p>Not found, sorry, my friend</p>', url), null);
});

test('short print: markup, case, punctuation, scripts and styles do not count', () => {
  const plain = shortPrintOf('there is nothing to see here', url);
  const dressed =
    '<style>p { color: red }</style><script>var id = "8f3a9c2d1e";</script>' +
    '<p CLASS=x>There is <b>nothing</b> &mdash;</p> to (see) "here".';
  assert.equal(shortPrintOf(dressed.replace('&mdash;', '!'), url), plain);
});

test('short print: no path of the URL changes the print of a page without it', () => {
  const page = 'a page about this and that or/and more';
  for (const path of ['/', '/%ff', '/%E4%B8%AD?x=/', '/a%00b']) {
    assert.equal(shortPrintOf(page, `http://a.test${path}`), shortPrintOf(page, url), path);
  }
});

test('short print: any text has one print or none, and always the same', () => {
  const markup = fc.constantFrom(
    '<',
    '>',
    '<p>',
    '<script>',
    '</script',
    '<img src=',
    '"',
    ' ',
    'a1',
  );
  const text = fc.array(fc.oneof(markup, fc.string({ unit: 'binary', maxLength: 6 })), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(text, (parts) => {
      const html = parts.join('');
      const print = shortPrintOf(html, url);
      assert.match(print ?? '0'.repeat(16), /^[\da-f]{16}$/);
      assert.equal(shortPrintOf(html, url), print);
    }),
  );
});

test('short print: a word of millions of letters is read', () => {
  assert.match(
    shortPrintOf(`four words are here \u4e00${'a'.repeat(10_000_000)}`, url)!,
    /^\w{16}$/,
  );
});

test('short print: unclosed constructs cost linear time', () => {
  const words = 'five words are enough here ';
  for (const part of ['<script>', '<img src=', '<img ', '<', '</', '<img src="', '<img\tsrc =']) {
    assertLinear(part, (size) => shortPrintOf(words + part.repeat(size), url), 200_000);
  }
  for (const part of ['-', '/', '\u00a0', '&nbsp;', ' -']) {
    const print = (size: number) =>
      shortPrintOf(`${words}a${part.repeat(size)}a${part.repeat(size)}`, `${url}a/a/`);
    assertLinear(part, print, 500_000);
  }
});
