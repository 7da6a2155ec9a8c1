import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { AddressGuard } from '../../../../agent/fetch/address/address-guard.ts';
import { checkAddress } from '../../../../agent/fetch/address/check-address.ts';
import type { Lookup } from '../../../../agent/fetch/address/dial.ts';

const guard = new AddressGuard({ allowPrivate: false });

/** A resolver that returns the same addresses for every name. */
function resolvingTo(addresses: readonly string[]): Lookup {
  return async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

const CASES: [string, boolean][] = [
  ['127.0.0.1', true],
  ['127.0.0.1:80', true],
  ['127.1', true],
  ['2130706433', true],
  ['0x7f.1', true],
  ['::1', true],
  ['[::1]', true],
  ['[::1]:8080/path', true],
  ['http://[::ffff:7f00:1]/', true],
  ['http:127.0.0.1/', true],
  ['0177.0.0.01', true],
  ['http://①②⑦.⓪.⓪.①/', true],
  ['http://user:pw@127.0.0.1:80/', true],
  ['http://127.0.0.1%2f@example.org', false],
  ['fe80::1%eth0', true],
  ['http://[fe80::1%25eth0]/', true],
  ['::ffff:127.0.0.1', true],
  ['2002:7f00:1::', true],
  ['64:ff9b::a00:1', true],
  ['localhost', true],
  ['localhost:8080', true],
  ['http://sub.LOCALHOST./', true],
  ['http://ip6-loopback/', true],
  ['http://127.0.0.1../', true],
  ['a..example', true],
  ['ht\ntp://127.0\t.0.1/', true],
  ['h\tttp\n:127.0.0.1', true],
  ['http\r://user@127.0.0.1/', true],
  [' 127.0.0.1', true],
  ['\u0000::1\u001f', true],
  ['1\n27.0.0.1:80', true],
  ['local\thost:80\n80', true],
  ['http:2130706433', true],
  ['http:127', true],
  ['HTTPS:127/', true],
  ['//127.0.0.1/', true],
  ['http:\\\\127.0.0.1\\', true],
  ['ht\ntp://93.184.\t216.34/', false],
  ['file:///etc/passwd', true],
  ['gopher://93.184.216.34/', true],
  ['javascript:alert(1)', true],
  ['', true],
  ['http://', true],
  ['two words', true],
  ['93.184.216.34', false],
  ['93.184.216.34:443/path?query', false],
  ['https://[2606:4700::1111]/', false],
  ['example.org', false],
  ['example.org:8080', false],
  ['example.org:22', true],
  ['https://93.184.216.34:5061/', true],
  ['[2606:4700::1111]:10080', true],
  ['http://example.org:00025/', true],
  ['http://example.org:5555/', false],
];

for (const [input, blocked] of CASES) {
  test(`check address: ${JSON.stringify(input)} is ${blocked ? 'refused' : 'allowed'}`, async () => {
    const verdict = await checkAddress(input, guard);
    assert.equal(verdict.blocked, blocked, verdict.reason ?? '');
    assert.equal(verdict.reason === null, !blocked);
  });
}

test('check address: checks the addresses to which a name resolves', async () => {
  const url = 'http://metadata.test/latest';
  const toMetadata = await checkAddress(url, guard, resolvingTo(['169.254.169.254']));
  assert.deepEqual(toMetadata, { blocked: true, reason: 'link-local' });
  const mapped = await checkAddress(url, guard, resolvingTo(['::ffff:10.0.0.1']));
  assert.deepEqual(mapped, { blocked: true, reason: 'private' });
  const mixed = await checkAddress(url, guard, resolvingTo(['10.0.0.1', '93.184.216.34']));
  assert.equal(mixed.blocked, false);
  const unknown = await checkAddress(url, guard, async () => {
    throw new Error('no such name');
  });
  assert.equal(unknown.blocked, false);
});

interface PublishedRow {
  readonly id: string;
  readonly input: string;
  readonly expect: string;
  readonly dnsStub?: readonly (string | readonly string[])[];
}

const FILE = new URL('../../../../../shared/cases/ssrf.json', import.meta.url);
const published: PublishedRow[] = existsSync(FILE)
  ? JSON.parse(readFileSync(FILE, 'utf8')).cases
  : [];

describe('published address rows', { skip: published.length === 0 && 'no table' }, () => {
  for (const row of published) {
    test(`${row.id}: ${JSON.stringify(row.input)} ${row.expect}`, async () => {
      const verdicts = [];
      for (const lookup of resolversOf(row)) {
        verdicts.push(await checkAddress(row.input, guard, lookup));
      }
      // A row with several answers is a name whose address changes: the last answer must be
      // refused.
      const last = verdicts.at(-1);
      assert.equal(last?.blocked, row.expect !== 'allow', last?.reason ?? 'let through');
    });
  }
});

function resolversOf(row: PublishedRow): Lookup[] {
  const answers = row.dnsStub ?? [];
  const queries = answers.every((answer) => Array.isArray(answer)) ? answers : [answers];
  return (queries.length === 0 ? [[]] : queries).map((query) =>
    resolvingTo(query as readonly string[]),
  );
}
