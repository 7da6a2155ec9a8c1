// Tests which cookies are kept and sent, to which URLs, and the maximum of cookies and hosts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CookieJar, type CookieJarOptions } from '../../../../agent/fetch/client/cookie-jar.ts';

const WALL = Date.parse('2026-01-01T00:00:00Z');
const PAGE = 'https://www.site.test/dir/page';

function jarWith(headers: readonly string[], options: CookieJarOptions = {}, from = PAGE) {
  const jar = new CookieJar(options);
  jar.take(new URL(from), headers, { now: 0, wallNow: WALL });
  return (url = PAGE, now = 0) => jar.headerFor(new URL(url), now);
}

for (const [claim, headers, url, expected] of [
  ['is sent back to its host', ['a=1'], PAGE, 'a=1'],
  [
    'is sent only to its host, whatever its Domain',
    ['a=1; Domain=site.test'],
    'https://site.test/',
    null,
  ],
  ['is sent to every port', ['a=1; Path=/'], 'https://www.site.test:8443/', 'a=1'],
  ['is limited to the directory of its page', ['a=1'], 'https://www.site.test/', null],
  ['with a path is sent to URLs below it', ['a=1; Path=/x'], 'https://www.site.test/x/y', 'a=1'],
  [
    'with a path is not sent to paths beside it',
    ['a=1; Path=/x'],
    'https://www.site.test/xy',
    null,
  ],
  [
    'that is secure is not sent over plain HTTP',
    ['a=1; Path=/; Secure'],
    'http://www.site.test/',
    null,
  ],
  ['with a longer path comes first', ['a=1; Path=/', 'b=2; Path=/dir'], PAGE, 'b=2; a=1'],
  ['replaces one of the same name', ['a=1', 'a=2'], PAGE, 'a=2'],
  ['is removed by Max-Age=0', ['a=1', 'a=; Max-Age=0'], PAGE, null],
  [
    'is removed by Expires in the past',
    ['a=1', 'a=; Expires=Thu, 01-Jan-1970 00:00:00 GMT'],
    PAGE,
    null,
  ],
  ['keeps equals signs in its value', ['a=b=c=='], PAGE, 'a=b=c=='],
  ['without a name is dropped', ['=1', 'a', ''], PAGE, null],
  ['that could break a header is dropped', ['a=1\r\nX: y', 'b=\u00fc'], PAGE, null],
] as const) {
  test(`cookies: a cookie ${claim}`, () => assert.equal(jarWith(headers)(url), expected));
}

test('cookies: a cookie from a plain connection cannot be secure', () => {
  const from = 'http://www.site.test/';
  assert.equal(jarWith(['a=1; Secure'], {}, from)('https://www.site.test/'), null);
});

test('cookies: a cookie is not sent after it expires', () => {
  const header = jarWith(['a=1; Max-Age=10', 'b=2; Expires=Thu, 01 Jan 2026 00:00:20 GMT']);
  assert.deepEqual(
    [header(PAGE, 9_999), header(PAGE, 10_000), header(PAGE, 20_000)],
    ['a=1; b=2', 'b=2', null],
  );
});

test('cookies: keeps only the newest cookies of a host, limited by number and by bytes', () => {
  const three = ['a=1', 'b=2', 'c=3'];
  assert.equal(jarWith(three, { cookiesMax: 2 })(), 'b=2; c=3');
  const long = ['a=1', `b=${'x'.repeat(80)}`, 'c=3'];
  assert.equal(jarWith(long, { bytesMax: 60 })(), 'c=3');
});

test('cookies: forgets the host requested least recently when there are too many hosts', () => {
  const jar = new CookieJar({ hostsMax: 2 });
  const at = (host: string) => new URL(`https://${host}.test/`);
  const take = (host: string) => jar.take(at(host), ['k=v'], { now: 0, wallNow: WALL });
  for (const host of ['a', 'b', 'a', 'c']) take(host);
  const kept = () => ['a', 'b', 'c', 'd'].filter((host) => jar.headerFor(at(host), 0));
  assert.deepEqual(kept(), ['a', 'c']);
  jar.headerFor(at('a'), 0);
  take('d');
  assert.deepEqual(kept(), ['a', 'd'], 'a request without a new cookie counts');
});
