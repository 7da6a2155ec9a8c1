import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseCrawlUrl } from '../../agent/url/crawl-url.ts';
import { IdentityRules } from '../../agent/url/identity-rules.ts';
import { identityOf, splitIdentity, urlKey } from '../../agent/url/url-key.ts';

// Pieces that trigger corner cases of the URL Standard, in any order.
const piece = fc.constantFrom(
  ...['http://', 'https://', 'HTTP:', '//', '/', '\\', '?', '#', '@', ':', ':80', ':443', ':8080'],
  ...[
    'a',
    'A.test',
    'xn--',
    'xn--bcher-kva',
    'ü',
    '[::1]',
    '[::A]',
    '1',
    '0x7f',
    '127.1',
    '-',
    '_',
  ],
  ...['.', '..', '/.', '/..', '%2e', '%2E', '%', '%%', '2e', '36', '1', '%41', '%7e', '%c3', '%2F'],
  ...[' ', '\t', '\n', '\0', '~', '^', '|', '{', "'", '"', '<', '&', '=', '+', '\ud800', '😀'],
);
const text = fc.oneof(
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
  fc.array(piece, { maxLength: 12 }).map((pieces) => `http://a.test/${pieces.join('')}`),
  fc.string({ unit: 'binary' }).map((rest) => `http://${rest}`),
);

test('url: parsing an identity gives the identity and the same host', () => {
  fc.assert(
    fc.property(text, (input) => {
      const url = parseCrawlUrl(input);
      if ('refused' in url) return;
      const again = parseCrawlUrl(url.identity);
      assert.deepEqual(again, { ...url, fetchUrl: url.identity });
      assert.match(url.identity, /^https?:\/\/[^@#]+\/[^#]*$/);
    }),
    { numRuns: 5000 },
  );
});

test('url: the request form has the identity of the URL', () => {
  fc.assert(
    fc.property(text, (input) => {
      const url = parseCrawlUrl(input);
      if ('refused' in url) return;
      assert.deepEqual(parseCrawlUrl(url.fetchUrl), url);
    }),
    { numRuns: 2000 },
  );
});

test('key: a key and its host determine the identity', () => {
  fc.assert(
    fc.property(text, (input) => {
      const url = parseCrawlUrl(input);
      if ('refused' in url) return;
      const key = urlKey(url.identity, url.host);
      assert.equal(identityOf(url.host, key), url.identity);
      assert.deepEqual(splitIdentity(url.identity), { host: url.host, key });
    }),
    { numRuns: 5000 },
  );
});

test('split: accepts exactly the identities', () => {
  fc.assert(
    fc.property(text, (input) => {
      const url = parseCrawlUrl(input);
      const canonical = !('refused' in url) && url.identity === input;
      assert.equal(splitIdentity(input) !== null, canonical);
    }),
    { numRuns: 5000 },
  );
});

const parameter = fc.constantFrom(
  ...['sid', 'a', 'utm_x', 'jsessionid', '=', '0123456789abcdefghijklmn', ';', '&', '?', '/'],
  ...['(', ')', '(S(', '))', '.', '..', '%', '2e', '%3b', '%26', '#'],
);

test('identity rules: the result is an identity of the same host, and stable', () => {
  const rules = new IdentityRules({
    dropParameters: ['a', '.*'],
    dropTracking: true,
    dropSessions: true,
  });
  const crowded = fc
    .array(parameter, { maxLength: 14 })
    .map((pieces) => `http://a.test/${pieces.join('')}`);
  fc.assert(
    fc.property(fc.oneof(crowded, text), (input) => {
      const url = parseCrawlUrl(input);
      if ('refused' in url) return;
      const applied = rules.apply(url);
      assert.deepEqual(parseCrawlUrl(applied.identity), {
        ...url,
        identity: applied.identity,
        fetchUrl: applied.identity,
      });
      assert.equal(rules.apply(applied).identity, applied.identity);
      assert.equal(applied.fetchUrl, url.fetchUrl);
    }),
    { numRuns: 5000 },
  );
});
