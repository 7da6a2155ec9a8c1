// What the look-up remembers and for how long, and what the resolver asks of whom.

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

/** A cache over a resolver that counts, with a clock to be set. */
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
    ['the time its server gave', 5000, 5000],
    ['the least time, where its server gives less', 0, 1000],
    ['the longest time, where its server gives more', 10 ** 9, 60_000],
    ['the least time, where nobody knows', null, 1000],
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

  test('who asks together shares one query, in any spelling', async () => {
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
    test(`${code} is remembered for ${keptMs} ms, then the name is asked for again`, async () => {
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

  test('names are bounded: the oldest leaves', async () => {
    const { lookup, asked } = cacheOver(() => ({ addresses: [V4], ttlMs: 60_000 }), 2);
    for (const name of ['a', 'b', 'c', 'c', 'b', 'a']) await lookup(name);
    assert.deepEqual(asked, ['a', 'b', 'c', 'a']);
  });

  test('a name that hangs keeps no other waiting', async () => {
    const { lookup } = cacheOver((name) =>
      name === 'slow.test' ? new Promise<never>(() => {}) : { addresses: [V4], ttlMs: 1 },
    );
    void lookup('slow.test');
    assert.deepEqual(await lookup('quick.test'), [V4]);
  });
});

/** A DNS that knows what it is told to. */
function client(v4: string[] | Error, v6: string[] | Error, ttl = 60): DnsClient {
  const answer = async (list: string[] | Error) => {
    if (list instanceof Error) throw list;
    return list.map((address) => ({ address, ttl }));
  };
  return { resolve4: () => answer(v4), resolve6: () => answer(v6) };
}

describe('resolver', () => {
  const system = async () => [V4, V6];

  test('both families are asked for and taken by turns', async () => {
    const dns = client(['192.0.2.1', '192.0.2.2'], ['2001:db8::1']);
    const { addresses, ttlMs } = await createResolver({ family: 'any', client: dns })('a.test');
    assert.deepEqual(addresses, [V4, V6, { address: '192.0.2.2', family: 4 }]);
    assert.equal(ttlMs, 60_000);
  });

  test('one family is enough, whatever becomes of the other', async () => {
    for (const code of ['ENODATA', 'ESERVFAIL', 'ETIMEOUT']) {
      const dns = client(failure(code), ['2001:db8::1']);
      const { addresses } = await createResolver({ family: 'any', client: dns })('a.test');
      assert.deepEqual(addresses, [V6]);
    }
  });

  test('a family that is not wanted is neither asked for nor taken', async () => {
    const dns = client(['192.0.2.1'], new Error('asked'));
    const resolve = createResolver({ family: 'ipv4', client: dns, system });
    assert.deepEqual((await resolve('a.test')).addresses, [V4]);
    assert.deepEqual((await resolve('localhost')).addresses, [V4]);
  });

  test('what the DNS does not know, the system may', async () => {
    for (const code of ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']) {
      const dns = client(failure(code), failure(code));
      const { addresses, ttlMs } = await createResolver({ family: 'any', client: dns, system })(
        'hosts.file.test',
      );
      assert.deepEqual([addresses, ttlMs], [[V4, V6], null]);
    }
  });

  test('an outage of the DNS does not reach the system, and is told as one', async () => {
    for (const other of ['ESERVFAIL', 'ENOTFOUND']) {
      const resolve = createResolver({
        family: 'any',
        client: client(failure(other), failure('ESERVFAIL')),
        system: () => assert.fail('the system was asked'),
      });
      await assert.rejects(resolve('a.test'), { code: 'ESERVFAIL' });
    }
  });

  test('a thousand addresses are cut to a few', async () => {
    const many = Array.from({ length: 1000 }, (_, n) => `192.0.2.${n % 256}`);
    const resolve = createResolver({ family: 'any', client: client(many, failure('ENODATA')) });
    assert.equal((await resolve('a.test')).addresses.length, 64);
  });
});

test('resolver: a system that never answers is given up, and the name may be asked for again', async (t) => {
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
