// Addresses at which an HTTP server listens.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isLoopback, parseListenAddress } from '../../../../config/values/listen-address.ts';

it('an address has an IP address or localhost, and a port', () => {
  assert.deepEqual(parseListenAddress('127.0.0.1:0'), { host: '127.0.0.1', port: 0 });
  assert.deepEqual(parseListenAddress('0.0.0.0:9100'), { host: '0.0.0.0', port: 9100 });
  assert.deepEqual(parseListenAddress('[::1]:9100'), { host: '::1', port: 9100 });
  assert.deepEqual(parseListenAddress('localhost:65535'), { host: 'localhost', port: 65_535 });
  const wrong = [
    '9100',
    ':9100',
    '127.0.0.1',
    '127.0.0.1:65536',
    '::1:9100',
    '[::1',
    '[1.2.3.4]:1',
  ];
  for (const text of [...wrong, 'example.org:80', '127.0.0.1:9100/', '1.2.3:80', 'a b:1']) {
    assert.equal(parseListenAddress(text), null, text);
  }
});

it('only addresses of this machine are loopback addresses', () => {
  for (const host of ['127.0.0.1', '127.9.8.7', '::1', 'localhost', '::ffff:127.0.0.1']) {
    assert.ok(isLoopback(host), host);
  }
  for (const host of [
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '127.0.0.1.example.org',
    '::ffff:10.0.0.1',
    '',
  ]) {
    assert.ok(!isLoopback(host), host);
  }
});
