// Tests what the DNS cache keeps and for how long, and which queries the resolver sends to the DNS
// and to the system.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ResolvedAddress } from '../../../../agent/fetch/address/dial.ts';
import { cachedLookup, type DnsAnswer } from '../../../../agent/fetch/address/dns-cache.ts';
import { createResolver, type DnsClient } from '../../../../agent/fetch/address/resolver.ts';

const V4: ResolvedAddress = { address: '192.0.2.1', family: 4 };
const V6: ResolvedAddress = { address: '2001:db8::1', family: 6 };

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** A cache over a resolver that records its queries, with a clock that the test sets. */
function cacheOver(answer: (name: string) => DnsAnswer | Promise<DnsAnswer>, namesMax = 100) {
  const asked: string[] = [];
  const clock = { now: 0 };
  const lookup = cachedLookup({
    resolve: async (name) => {
      asked.push(name);
      return answer(name);
    },
    now: () => clock.now,
    ttlMinMs: 1000,
    ttlMaxMs: 60_000,
    negativeTtlMs: 30_000,
    namesMax,
  });
  return { lookup, asked, clock };
}

describe('dns cache', () => {
  for (const [claim, ttlMs, keptMs] of [
    ['the TTL of its server', 5000, 5000],
    ['the minimum, if its server gives less', 0, 1000],
    ['the maximum, if its server gives more', 10 ** 9, 60_000],
    ['the minimum, if the TTL is unknown', null, 1000],
  ] as const) {
    test(`an answer is kept for ${claim}`, async () => {
      const { lookup, asked, clock } = cacheOver(() => ({ addresses: [V4], ttlMs }));
      await lookup('a.test');
      clock.now = keptMs - 1;
      assert.deepEqual(await lookup('a.test'), [V4]);
      assert.equal(asked.length, 1);
      clock.now = keptMs;
      await lookup('a.test');
      assert.equal(asked.length, 2);
    });
  }

  test('concurrent look-ups of a name in any spelling share one query', async () => {
    let answer: (value: DnsAnswer) => void = () => {};
    const { lookup, asked } = cacheOver(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const all = Promise.all([lookup('a.test'), lookup('A.Test'), lookup('a.test.')]);
    answer({ addresses: [V4], ttlMs: 1 });
    assert.deepEqual(await all, [[V4], [V4], [V4]]);
    assert.deepEqual(asked, ['a.test']);
  });

  for (const [code, keptMs] of [
    ['ENOTFOUND', 30_000],
    ['ESERVFAIL', 5000],
    ['ETIMEOUT', 5000],
  ] as const) {
    test(`${code} is cached for ${keptMs} ms, then the name is looked up again`, async () => {
      let works = false;
      const { lookup, asked, clock } = cacheOver(() => {
        if (!works) throw failure(code);
        return { addresses: [V4], ttlMs: 5000 };
      });
      await assert.rejects(lookup('a.test'), { code });
      works = true;
      clock.now = keptMs - 1;
      await assert.rejects(lookup('a.test'), { code });
      assert.equal(asked.length, 1);
      clock.now = keptMs;
      assert.deepEqual(await lookup('a.test'), [V4]);
    });
  }

  test('the number of names is bounded, and the oldest is removed', async () => {
    const { lookup, asked } = cacheOver(() => ({ addresses: [V4], ttlMs: 60_000 }), 2);
    for (const name of ['a', 'b', 'c', 'c', 'b', 'a']) await lookup(name);
    assert.deepEqual(asked, ['a', 'b', 'c', 'a']);
  });

  test('a look-up that hangs does not delay other names', async () => {
    const { lookup } = cacheOver((name) =>
      name === 'slow.test' ? new Promise<never>(() => {}) : { addresses: [V4], ttlMs: 1 },
    );
    void lookup('slow.test');
    assert.deepEqual(await lookup('quick.test'), [V4]);
  });
});

/** A DNS client that gives the answers of the test. */
function client(v4: string[] | Error, v6: string[] | Error, ttl = 60): DnsClient {
  const answer = async (list: string[] | Error) => {
    if (list instanceof Error) throw list;
    return list.map((address) => ({ address, ttl }));
  };
  return { resolve4: () => answer(v4), resolve6: () => answer(v6) };
}

describe('resolver', () => {
  const system = async () => [V4, V6];

  test('queries both families and alternates their addresses', async () => {
    const dns = client(['192.0.2.1', '192.0.2.2'], ['2001:db8::1']);
    const { addresses, ttlMs } = await createResolver({ family: 'any', client: () => dns })(
      'a.test',
    );
    assert.deepEqual(addresses, [V4, V6, { address: '192.0.2.2', family: 4 }]);
    assert.equal(ttlMs, 60_000);
  });

  test('one family is sufficient if the other fails', async () => {
    for (const code of ['ENODATA', 'ESERVFAIL', 'ETIMEOUT']) {
      const dns = client(failure(code), ['2001:db8::1']);
      const { addresses } = await createResolver({ family: 'any', client: () => dns })('a.test');
      assert.deepEqual(addresses, [V6]);
    }
  });

  test('one family is sufficient if the servers never answer queries for the other', async () => {
    const silent = { ...client(['192.0.2.1'], []), resolve6: () => new Promise<never>(() => {}) };
    const answer = await createResolver({ family: 'any', client: () => silent })('a.test');
    assert.deepEqual(answer, { addresses: [V4], ttlMs: 5000 });
  });

  test('IPv6 addresses wait for those of IPv4', async () => {
    const late = Promise.withResolvers<{ address: string; ttl: number }[]>();
    const dns = { ...client([], ['2001:db8::1']), resolve4: () => late.promise };
    const answer = createResolver({ family: 'any', client: () => dns })('a.test');
    setTimeout(() => late.resolve([{ address: '192.0.2.1', ttl: 60 }]), 300);
    assert.deepEqual(await answer, { addresses: [V4, V6], ttlMs: 60_000 });
  });

  test('reads the addresses of the DNS servers again when none answers', async () => {
    for (const code of ['ETIMEOUT', 'ECONNREFUSED']) {
      const clients = [client(failure(code), failure(code)), client(['192.0.2.1'], [])];
      const resolve = createResolver({ family: 'ipv4', client: () => clients.shift()!, system });
      await resolve('a.test').catch(() => {});
      assert.equal(clients.length, 0);
      assert.deepEqual((await resolve('b.test')).addresses, [V4]);
    }
  });

  test('neither queries nor returns a family that is not configured', async () => {
    const dns = client(['192.0.2.1'], new Error('asked'));
    const resolve = createResolver({ family: 'ipv4', client: () => dns, system });
    assert.deepEqual((await resolve('a.test')).addresses, [V4]);
    assert.deepEqual((await resolve('localhost')).addresses, [V4]);
  });

  test('asks the system for a name that the DNS does not know', async () => {
    for (const code of ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']) {
      const dns = client(failure(code), failure(code));
      const { addresses, ttlMs } = await createResolver({
        family: 'any',
        client: () => dns,
        system,
      })('hosts.file.test');
      assert.deepEqual([addresses, ttlMs], [[V4, V6], null]);
    }
  });

  test('a DNS outage is reported as such, without asking the system', async () => {
    for (const other of ['ESERVFAIL', 'ENOTFOUND']) {
      const resolve = createResolver({
        family: 'any',
        client: () => client(failure(other), failure('ESERVFAIL')),
        system: () => assert.fail('the system resolver was queried'),
      });
      await assert.rejects(resolve('a.test'), { code: 'ESERVFAIL' });
    }
  });

  test('limits a thousand addresses to a few', async () => {
    const many = Array.from({ length: 1000 }, (_, n) => `192.0.2.${n % 256}`);
    const resolve = createResolver({
      family: 'any',
      client: () => client(many, failure('ENODATA')),
    });
    assert.equal((await resolve('a.test')).addresses.length, 64);
  });
});

test('resolver: cancels a system look-up that never answers, and the name can be looked up again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let asked = 0;
  const system = () => {
    asked++;
    return new Promise<never>(() => {});
  };
  let now = 0;
  const resolve = createResolver({ family: 'any', system });
  const ttl = { ttlMinMs: 0, ttlMaxMs: 1000, negativeTtlMs: 1000 };
  const lookup = cachedLookup({ resolve, now: () => now, ...ttl });
  for (const times of [1, 2]) {
    const answer = assert.rejects(lookup('printer.local'), { code: 'ETIMEOUT' });
    t.mock.timers.tick(60_000);
    await answer;
    assert.equal(asked, times);
    now += 60_000;
  }
});
