import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PageLink } from '../../../../agent/parse/page/links.ts';
import { packUrls, unpackUrls } from '../../../../agent/parse/page/packed-urls.ts';

test('packed URLs: are unpacked unchanged, with a form only if it differs', () => {
  const links: PageLink[] = [
    { identity: 'http://a.test/', fetchUrl: null, host: 'a.test' },
    { identity: 'http://a.test/~u', fetchUrl: 'http://a.test/%7Eu', host: 'a.test' },
    { identity: 'http://a.test:81/', fetchUrl: 'http://a.test:81/', host: 'a.test' },
    { identity: 'http://[::1]/%0A', fetchUrl: 'http://[::1]/%0a', host: '[::1]' },
    { identity: 'http://b.test./', fetchUrl: null, host: 'b.test' },
    { identity: 'http://a.test/x', fetchUrl: null, host: 'a.test' },
  ];
  const expected = links.map((link, k) => (k === 2 ? { ...link, fetchUrl: null } : link));
  const packed = packUrls(links);
  assert.deepEqual([...unpackUrls(packed)], expected);
  assert.deepEqual([...unpackUrls(packed).take(2)], expected.slice(0, 2));
  assert.deepEqual([...unpackUrls(packUrls([]))], []);
});
