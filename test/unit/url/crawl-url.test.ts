import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CrawlUrl, parseCrawlUrl } from '../../../agent/url/crawl-url.ts';
import { absent, independentCases } from './independent-cases.ts';

interface CanonRow {
  id: string;
  in: string;
  base?: string;
  tier: string;
  rfc3986safe: string | null;
}
interface Parts {
  idempotence: { in: string }[];
  pathDots: { kind: string; in: string; out: string }[];
  ipv4Forms: { in: string; out: string | null }[];
}

const canon = independentCases<CanonRow[]>('url_canon.json');
const parts = independentCases<Parts>('url_parts.json');

function accepted(text: string, base?: string): CrawlUrl {
  const url = parseCrawlUrl(text, base);
  assert.ok(!('refused' in url), `${text} is refused`);
  return url;
}

const IDENTITIES: [claim: string, text: string, identity: string][] = [
  ['the fragment is dropped', 'http://a.test/x?y#z', 'http://a.test/x?y'],
  ['an empty query is kept', 'http://a.test/x?#', 'http://a.test/x?'],
  ['userinfo is dropped', 'http://me:pw@a.test/', 'http://a.test/'],
  ['a default port is dropped', 'https://A.test:443', 'https://a.test/'],
  ['unreserved escapes are decoded', 'http://a.test/%7e%61?%2D', 'http://a.test/~a?-'],
  ['other escapes are in upper case', 'http://a.test/%2f%c3', 'http://a.test/%2F%C3'],
  ['an escape may result from decoding another', 'http://a.test/%%361%%32f', 'http://a.test/a%2F'],
  ['an incomplete escape stays', 'http://a.test/%4?%zz%', 'http://a.test/%4?%zz%'],
  [
    'dot segments that result from decoding are removed',
    'http://a.test/b/%%32e%%32e/c',
    'http://a.test/c',
  ],
  ['dots in the query stay', 'http://a.test/?/%2e%2e/', 'http://a.test/?/../'],
  ['the order of the query stays', 'http://a.test/?b=2&a=1', 'http://a.test/?b=2&a=1'],
  ['a trailing dot of the host stays', 'http://a.test./b', 'http://a.test./b'],
];

for (const [claim, text, identity] of IDENTITIES) {
  test(`identity: ${claim}`, () => {
    assert.equal(accepted(text).identity, identity);
    assert.equal(accepted(identity).identity, identity);
  });
}

test('request form: is the spelling as found, without fragment and userinfo', () => {
  const url = accepted(' http://u@A.test/%7euser/%c3\n#top ');
  assert.equal(url.fetchUrl, 'http://a.test/%7euser/%c3');
});

test('host: has no port and no trailing dot, but brackets, and is in punycode', () => {
  assert.equal(accepted('http://Bücher.test.:8080/').host, 'xn--bcher-kva.test');
  assert.equal(accepted('http://[::0001]:8080/').host, '[::1]');
  assert.equal(accepted('//0x7f.1/', 'https://a.test').host, '127.0.0.1');
});

test('refusal: says whether the syntax, the scheme or the host is invalid', () => {
  assert.deepEqual(parseCrawlUrl('http://a b/'), { refused: 'syntax' });
  assert.deepEqual(parseCrawlUrl('x.html'), { refused: 'syntax' });
  assert.deepEqual(parseCrawlUrl('x.html', 'no base'), { refused: 'syntax' });
  assert.deepEqual(parseCrawlUrl('java\nscript:alert(1)'), { refused: 'scheme' });
  assert.deepEqual(parseCrawlUrl('ftp://a.test/'), { refused: 'scheme' });
  for (const host of ['.', 'a..', 'a..b', '.a']) {
    assert.deepEqual(parseCrawlUrl(`http://${host}/`), { refused: 'host' });
  }
});

test('independent cases: each safe row of a web scheme has its identity', {
  skip: absent(canon),
}, () => {
  const rows = canon!.filter((row) => row.tier === 'safe');
  for (const row of rows) {
    // The column keeps userinfo, which identities do not have.
    const safe = row.rfc3986safe?.replace(/^(https?:\/\/)[^/@]*@/, '$1');
    const expected = safe?.startsWith('http') ? safe : null;
    const url = parseCrawlUrl(row.in, row.base);
    assert.equal('refused' in url ? null : url.identity, expected, `${row.id} ${row.in}`);
  }
  assert.ok(rows.length > 0);
});

test('independent cases: refuses what must be refused', { skip: absent(canon) }, () => {
  for (const row of canon!.filter((row) => row.tier === 'reject')) {
    assert.ok('refused' in parseCrawlUrl(row.in, row.base), `${row.id} ${row.in}`);
  }
});

test('independent cases: the identity of an identity is itself', { skip: absent(parts) }, () => {
  for (const { in: text } of [...parts!.idempotence, ...canon!]) {
    const url = parseCrawlUrl(text);
    if ('refused' in url) continue;
    assert.equal(accepted(url.identity).identity, url.identity, text);
  }
});

test('independent cases: dot segments and IPv4 forms', { skip: absent(parts) }, () => {
  for (const row of parts!.pathDots.filter((row) => row.kind === 'special')) {
    // The rows keep backslashes; the URL Standard reads them as slashes.
    const path = row.out.replaceAll('\\', '/');
    assert.equal(accepted(`http://a.test${row.in}`).identity, `http://a.test${path}`, row.in);
  }
  for (const row of parts!.ipv4Forms) {
    const url = parseCrawlUrl(`http://${row.in}/`);
    assert.equal('refused' in url ? null : url.host, row.out, row.in);
  }
});
