import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AddressGuard } from '../../../../agent/fetch/address/address-guard.ts';

const strict = new AddressGuard({ allowPrivate: false });
const open = new AddressGuard({ allowPrivate: true });

/** First and last addresses of the ranges that are refused by default. */
const REFUSED = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '239.255.255.255'],
  ['240.0.0.0', '255.255.255.255'],
  ['168.63.129.16', '168.63.129.16'],
  ['::', '::ffff:ffff'],
  ['100::', '100::ffff:ffff:ffff:ffff'],
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['4000::', 'fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
].flat();

/** Addresses just outside of these ranges, and ordinary ones. */
const PASSED = [
  ['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ['128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ['2001:200::', '2606:4700::1111', '2003::', '3ffe::1', '2a00:1450:4001::200e'],
].flat();

test('address guard: refuses every blocked range at both ends', () => {
  for (const address of REFUSED) {
    assert.notEqual(strict.blocked(address), null, address);
  }
});

test('address guard: allows public unicast addresses up to the edges of the blocked ranges', () => {
  for (const address of PASSED) {
    assert.equal(strict.blocked(address), null, address);
  }
});

test('address guard: an IPv4 address embedded in IPv6 gets the same verdict as the IPv4 address', () => {
  const octet = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(fc.tuple(octet, octet, octet, octet), (octets) => {
      const plain = octets.join('.');
      for (const guard of [strict, open]) {
        assert.equal(guard.blocked(`::ffff:${plain}`), guard.blocked(plain));
        assert.equal(guard.blocked(`64:ff9b::${plain}`), guard.blocked(plain));
      }
      assert.notEqual(strict.blocked(`::${plain}`), null, 'IPv4-compatible');
      assert.notEqual(strict.blocked(`::ffff:0:${plain}`), null, 'IPv4-translated');
    }),
  );
});

test('address guard: allows private networks if configured, but never unusable addresses', () => {
  for (const address of ['127.0.0.1', '10.1.2.3', '169.254.1.1', '::1', 'fd00::1', 'fe80::1%lo']) {
    assert.notEqual(strict.blocked(address), null, address);
    assert.equal(open.blocked(address), null, address);
  }
  const never = ['0.0.0.0', '::', '255.255.255.255', '224.0.0.1', 'ff02::1', '::ffff:0.0.0.0'];
  for (const address of [...never, '64:ff9b::224.0.0.1']) {
    assert.notEqual(open.blocked(address), null, address);
  }
});

test('address guard: refuses a text that is not an address', () => {
  for (const text of ['', 'localhost', '127.1', '0x7f.0.0.1', '1.2.3', '[::1]', '1.2.3.4.5']) {
    assert.equal(open.blocked(text), 'not an address', text);
  }
});

test('address guard: checks hosts that are IP literals, with brackets or a trailing dot', () => {
  for (const host of ['127.0.0.1', '127.0.0.1.', '[::1]', '[::ffff:7f00:1]']) {
    assert.notEqual(strict.checkHostLiteral(host), null, host);
  }
  for (const host of [
    'notlocalhost',
    'example.org',
    'example.org.',
    '93.184.216.34',
    '[2606::1]',
  ]) {
    assert.equal(strict.checkHostLiteral(host), null, host);
  }
});

test('address guard: refuses names of this machine and its network without a look-up', () => {
  for (const host of [
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'localhost.localdomain'],
    ...['printer.local', 'metadata.google.internal', 'router.home.arpa'],
    ...['localhost4', 'localhost6', 'ip6-localhost', 'IP6-loopback.', 'broadcasthost'],
  ]) {
    assert.equal(strict.checkHostLiteral(host), 'local name', host);
    assert.equal(open.checkHostLiteral(host), null, host);
  }
  for (const host of ['local.example.org', 'internal.example', 'arpa', 'localhost.org']) {
    assert.equal(strict.checkHostLiteral(host), null, host);
  }
});
