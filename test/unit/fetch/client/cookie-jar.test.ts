// Which cookies are kept, for whom, and how many.

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
  ['goes back to its host', ['a=1'], PAGE, 'a=1'],
  [
    'stays with its host whatever its Domain',
    ['a=1; Domain=site.test'],
    'https://site.test/',
    null,
  ],
  ['goes to every port', ['a=1; Path=/'], 'https://www.site.test:8443/', 'a=1'],
  ['belongs to the directory of its page', ['a=1'], 'https://www.site.test/', null],
  ['with a path goes below it', ['a=1; Path=/x'], 'https://www.site.test/x/y', 'a=1'],
  ['with a path goes nowhere beside it', ['a=1; Path=/x'], 'https://www.site.test/xy', null],
  [
    'that is secure is not sent in the clear',
    ['a=1; Path=/; Secure'],
    'http://www.site.test/',
    null,
  ],
  ['with a longer path comes first', ['a=1; Path=/', 'b=2; Path=/dir'], PAGE, 'b=2; a=1'],
  ['replaces its like', ['a=1', 'a=2'], PAGE, 'a=2'],
  ['is taken back by Max-Age', ['a=1', 'a=; Max-Age=0'], PAGE, null],
  ['is taken back by Expires', ['a=1', 'a=; Expires=Thu, 01-Jan-1970 00:00:00 GMT'], PAGE, null],
  ['keeps equals signs', ['a=b=c=='], PAGE, 'a=b=c=='],
  ['without a name is left out', ['=1', 'a', ''], PAGE, null],
  ['that could break a header is left out', ['a=1\r\nX: y', 'b=\u00fc'], PAGE, null],
] as const) {
  test(`cookies: one ${claim}`, () => assert.equal(jarWith(headers)(url), expected));
}

test('cookies: one from a plain connection cannot be secure', () => {
  const from = 'http://www.site.test/';
  assert.equal(jarWith(['a=1; Secure'], {}, from)('https://www.site.test/'), null);
});

test('cookies: one ends with its time', () => {
  const header = jarWith(['a=1; Max-Age=10', 'b=2; Expires=Thu, 01 Jan 2026 00:00:20 GMT']);
  assert.deepEqual(
    [header(PAGE, 9_999), header(PAGE, 10_000), header(PAGE, 20_000)],
    ['a=1; b=2', 'b=2', null],
  );
});

test('cookies: a host keeps the youngest of too many, by number and by bytes', () => {
  const three = ['a=1', 'b=2', 'c=3'];
  assert.equal(jarWith(three, { cookiesMax: 2 })(), 'b=2; c=3');
  const long = ['a=1', `b=${'x'.repeat(80)}`, 'c=3'];
  assert.equal(jarWith(long, { bytesMax: 60 })(), 'c=3');
});

test('cookies: of too many hosts, the one longest silent is forgotten', () => {
  const jar = new CookieJar({ hostsMax: 2 });
  for (const host of ['a', 'b', 'a', 'c']) {
    jar.take(new URL(`https://${host}.test/`), ['k=v'], { now: 0, wallNow: WALL });
  }
  const kept = ['a', 'b', 'c'].filter((host) => jar.headerFor(new URL(`https://${host}.test/`), 0));
  assert.deepEqual(kept, ['a', 'c']);
});
