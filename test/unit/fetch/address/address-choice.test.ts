// Tests which address the next request to a host uses: the first allowed address that has not
// failed recently, in one canonical spelling.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AddressChoice,
  addressKey,
  serverKey,
} from '../../../../agent/fetch/address/address-choice.ts';
import { AddressGuard } from '../../../../agent/fetch/address/address-guard.ts';

const guard = new AddressGuard({ allowPrivate: false });
const first = '93.184.216.34';
const second = '2606:4700::1111';

function choosing(answers: (host: string) => readonly string[]) {
  const asked: string[] = [];
  const lookup = async (host: string) => {
    asked.push(host);
    return answers(host).map((address) => {
      return { address, family: address.includes(':') ? (6 as const) : (4 as const) };
    });
  };
  const choice = new AddressChoice({ lookup, guard });
  const dialed = async (host: string) => (await choice.of(host))?.dial ?? null;
  return { asked, choice, dialed };
}

test('address choice: takes the first allowed address of the answers', async () => {
  const answers: Record<string, string[]> = {
    'both.test': [first, second],
    'mixed.test': ['10.0.0.1', '::1', second, first],
    'inside.test': ['127.0.0.1', '::ffff:10.0.0.1', '64:ff9b::a00:1'],
    'none.test': [],
  };
  const { dialed } = choosing((host) => answers[host]!);
  assert.equal(await dialed('both.test'), first);
  assert.equal(await dialed('mixed.test'), second);
  assert.equal(await dialed('inside.test'), null);
  assert.equal(await dialed('none.test'), null);
});

test('address choice: uses an IP literal as the address without a look-up', async () => {
  const { dialed, asked } = choosing(() => [second]);
  assert.equal(await dialed(first), first);
  assert.equal(await dialed(`[${second}]`), second);
  assert.equal(await dialed('127.0.0.1'), null);
  assert.equal(await dialed('[::ffff:7f00:1]'), null);
  assert.deepEqual(asked, []);
});

test('address choice: a failed look-up gives no address and no error', async () => {
  const lookup = () => Promise.reject(new Error('SERVFAIL'));
  assert.equal(await new AddressChoice({ lookup, guard }).of('a.test'), null);
});

test('address choice: after a failed connection, prefers the other addresses of that host only', async () => {
  const { choice, dialed } = choosing(() => [first, second]);
  choice.failed('a.test', first);
  assert.equal(await dialed('a.test'), second);
  assert.equal(await dialed('b.test'), first);
});

test('address choice: after all addresses have failed, tries all again, starting with the first', async () => {
  const { choice, dialed } = choosing(() => [first, second]);
  choice.failed('a.test', first);
  choice.failed('a.test', second);
  assert.equal(await dialed('a.test'), first);
  assert.equal(await dialed('a.test'), first, 'failures are forgotten');
});

test('address choice: tries a new address of the host after the others have failed', async () => {
  let answers = [first];
  const { choice, dialed } = choosing(() => answers);
  choice.failed('a.test', first);
  answers = [first, '1.1.1.1'];
  assert.equal(await dialed('a.test'), '1.1.1.1');
});

test('address choice: gives each address one spelling, so that it has one budget', async () => {
  const spellings = [first, `::ffff:${first}`, '::FFFF:5db8:d822', '0:0:0:0:0:ffff:5db8:d822'];
  for (const spelling of spellings) {
    assert.equal(addressKey(spelling), first, spelling);
    const { choice, dialed } = choosing(() => [spelling, second]);
    assert.equal(await dialed('a.test'), first, spelling);
    choice.failed('a.test', first);
    assert.equal(await dialed('a.test'), second, spelling);
  }
  for (const spelling of ['2606:4700:0:0::1111', '2606:4700::1111%eth0', '2606:4700::0:1111']) {
    assert.equal(addressKey(spelling), second, spelling);
  }
});

test('address choice: a NAT64 address names the same server but is another address to connect to', async () => {
  const translated = '64:ff9b::5db8:d822';
  const { choice, dialed } = choosing((host) => (host === 'six.test' ? [translated] : [first]));
  assert.deepEqual(await choice.of('six.test'), { dial: translated, address: first });
  assert.deepEqual(await choice.of('[64:ff9b::93.184.216.34]'), {
    dial: translated,
    address: first,
  });
  assert.deepEqual(await choice.of('four.test'), { dial: first, address: first });
  choice.failed('six.test', translated);
  assert.equal(await dialed('four.test'), first);
});

test('address choice: an embedded IPv4 address that only names a gateway is not the server key', () => {
  const gates = ['2002:5db8:d822::1', '2001:0:5db8:d822::1', '64:ff9b:1::5db8:d822'];
  for (const gate of [...gates, '64:ff9b::1:5db8:d822', '::5db8:d822', second]) {
    assert.equal(serverKey(gate), addressKey(gate), gate);
  }
});

test('address choice: remembers failures for the last ten thousand hosts', async () => {
  const { choice, dialed } = choosing(() => [first, second]);
  choice.failed('old.test', first);
  choice.failed('kept.test', first);
  for (let n = 0; n < 9_998; n++) choice.failed(`${n}.test`, first);
  assert.equal(await dialed('old.test'), second);
  // A host that fails again becomes the newest entry.
  choice.failed('kept.test', first);
  choice.failed('one-more.test', first);
  assert.equal(await dialed('old.test'), first);
  assert.equal(await dialed('kept.test'), second);
});

test('address choice: keeps the chosen server while the name resolves to it', async () => {
  let answers = [first, second];
  const { choice } = choosing(() => answers);
  const chosen = async (current: string | null) => (await choice.of('a.test', current))?.dial;
  assert.equal(await chosen(null), first);
  answers = [second, first];
  assert.equal(await chosen(first), first);
  choice.failed('a.test', first);
  assert.equal(await chosen(first), second);
  answers = [first];
  assert.equal(await chosen(second), first);
});
