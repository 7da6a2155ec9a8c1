import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identityOf, splitIdentity, urlKey } from '../../../agent/url/url-key.ts';
import { assertLinear } from '../../checkers/linear-cost.ts';

const KEYS: [identity: string, host: string, key: string][] = [
  ['http://a.test/', 'a.test', 'h/'],
  ['https://a.test/b?c', 'a.test', 's/b?c'],
  ['https://a.test:8443/x?y', 'a.test', 's:8443/x?y'],
  ['http://a.test./b', 'a.test', 'h./b'],
  ['http://a.test.:81/b', 'a.test', 'h.:81/b'],
  ['http://[::1]:8080/', '[::1]', 'h:8080/'],
  ['http://https.test/', 'https.test', 'h/'],
  ['http://xn--bcher-kva.test/%C3%BC', 'xn--bcher-kva.test', 'h/%C3%BC'],
];

for (const [identity, host, key] of KEYS) {
  test(`key: ${identity} on ${host} has the key ${key}, and back`, () => {
    assert.equal(urlKey(identity, host), key);
    assert.equal(identityOf(host, key), identity);
    assert.deepEqual(splitIdentity(identity), { host, key });
  });
}

const NOT_CANONICAL = [
  '',
  'http://a.test',
  'HTTP://a.test/',
  'http://A.test/',
  'http://a.test:80/',
  'http://a.test/#x',
  'http://u@a.test/',
  'http://a.test/%7e',
  'http://a.test/%c3',
  'http://a.test/../x',
  'http://a.test/x/.',
  'http://a.test/./x?y',
  'http://a.test/ ',
  ' http://a.test/',
  'http://a.test/ü',
  'http://0x7f.1/',
  'http://a.1/',
  'http://XN--bcher-kva.test/',
  'ftp://a.test/',
  'http://a.test/x\n',
];

test('split: refuses every text that is not exactly an identity', () => {
  for (const text of NOT_CANONICAL) assert.equal(splitIdentity(text), null, JSON.stringify(text));
});

test('split: hostile input costs linear time', () => {
  for (const unit of ['a.', 'a', '/', './', 'xn--', '%4']) {
    assertLinear(unit, (size) => splitIdentity(`http://${unit.repeat(size)}!`), 200_000);
    assertLinear(unit, (size) => splitIdentity(`http://a.test/${unit.repeat(size)}!"`), 200_000);
  }
});
