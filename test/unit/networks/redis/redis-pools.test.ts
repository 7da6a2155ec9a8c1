import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Frame } from '../../../../agent/networks/pools.ts';
import { RedisLink } from '../../../../agent/networks/redis/redis-link.ts';
import { RedisPools } from '../../../../agent/networks/redis/redis-pools.ts';

class Reply extends Error {}

/** Pools before a server that answers scripts with `answer()`; `sent` has the commands. */
async function recorded(answer: () => unknown) {
  const sent: (readonly string[])[] = [];
  const link = new RedisLink(
    {
      place: { network: 'berlin', host: 'h', port: 1 },
      sentinels: null,
      tls: false,
      user: '',
      password: null,
      passwordVariable: '',
      database: 0,
      timeoutMs: 10_000,
      recheckMs: 1000,
      enter: () => ['INFO'],
    },
    {
      ErrorReply: Reply,
      createClient: () => ({
        connect: async () => undefined,
        destroy: () => undefined,
        on: () => undefined,
        sendCommand: async (args) => {
          if (args[0] === 'INFO') return 'redis_version:7.0.0\r\nrun_id:r1\r\n';
          sent.push(args);
          return answer();
        },
      }),
    },
  );
  await link.connect();
  return { pools: new RedisPools(link, 'a/{b}', 'berlin'), sent };
}

const digests = Array.from({ length: 10_000 }, (_, k) =>
  createHash('sha256').update(String(k)).digest().subarray(0, 16).toString('base64url'),
);

/** Keys and arguments of each script. */
function scriptsOf(sent: readonly (readonly string[])[]) {
  return sent.map(([command, sha1, count, ...rest]) => {
    assert.equal(command, 'EVALSHA');
    assert.match(sha1!, /^[0-9a-f]{40}$/);
    return { keys: rest.slice(0, Number(count)), args: rest.slice(Number(count)) };
  });
}

test('redis pools: a script has at most 1000 digests, and each names its shard', async () => {
  const frame: Frame = {
    number: 'n',
    flag: 1,
    network: 'berlin',
    origin: 'a1',
    relay: 'berlin',
    sender: 'a1',
    digests,
  };
  const verdict = { number: 'n', owners: [], finals: '', isPartial: false };
  let answer: unknown = 1;
  const { pools, sent } = await recorded(() => answer);
  await pools.finish([]);
  for (const [work, keysBefore, argsBefore] of [
    [() => pools.finish(digests), 0, 1],
    [() => pools.release(digests), 0, 0],
    [() => pools.hold(digests), 0, 1],
    [() => pools.marksOf(digests), 2, 0],
    [() => pools.claim('t', { id: '1-1', frame }), 6, 8],
    [() => pools.settle('t', 'a1', verdict, digests), 3, 5],
  ] as const) {
    sent.length = 0;
    answer = argsBefore === 8 ? '0'.repeat(1000) : 1;
    await work();
    const seen: string[] = [];
    for (const { keys, args } of scriptsOf(sent)) {
      const pairs = args.slice(argsBefore);
      assert.ok(pairs.length <= 2000);
      for (let k = 0; k < pairs.length; k += 2) {
        const shard = Buffer.from(pairs[k]!, 'base64url').subarray(0, 1).toString('hex');
        const place = keysBefore + 2 * Number(pairs[k + 1]);
        const tag = 'ubiring:{a%2F%7Bb%7D/berlin}';
        const expected = [`${tag}:finish_URL:${shard}`, `${tag}:r1:task_URL:${shard}`];
        assert.deepEqual(keys.slice(place, place + 2), expected);
        seen.push(pairs[k]!);
      }
      assert.equal(new Set(keys).size, keys.length);
    }
    assert.deepEqual(seen, digests);
    assert.equal(sent.length, 10);
  }
});

test('redis pools: a script has at most 500 hosts, with two keys for each', async () => {
  const { pools, sent } = await recorded(() => Array(500).fill(0));
  const hosts = Array.from({ length: 10_000 }, (_, k) => ({ host: `h${k}`, delayMs: 1.5 }));
  const grants = await pools.acquire('berlin', hosts, 60_000, 'g');
  assert.deepEqual(
    grants,
    hosts.map(({ host }) => ({ host, waitMs: 0 })),
  );
  await pools.releaseHosts(
    'berlin',
    hosts.map((one) => ({ ...one, grant: 'g' })),
  );
  assert.equal(sent.length, 40);
  for (const { keys } of scriptsOf(sent)) {
    assert.equal(keys.length, 1000);
    assert.match(keys[0]!, /^ubiring:\{a%2F%7Bb%7D\/berlin\}:lease:h\d+$/);
    assert.equal(keys[1], keys[0]!.replace(':lease:', ':queue:'));
  }
  assert.deepEqual(scriptsOf(sent.slice(20))[0]!.args.slice(2, 6), ['2', 'g', '2', 'g']);
});

test('redis pools: longer lists are refused before anything is sent', async () => {
  const { pools, sent } = await recorded(() => 1);
  const long = [...digests, digests[0]!];
  const refused = { name: 'AssertionError' };
  await assert.rejects(pools.release(long), refused);
  await assert.rejects(
    pools.acquire(
      'berlin',
      long.map((host) => ({ host, delayMs: 0 })),
      1,
      'g',
    ),
    refused,
  );
  await assert.rejects(pools.take(10_001, 10_001), refused);
  assert.deepEqual(sent, []);
});

test('redis pools: all shards are touched at the first use, and not at each', async () => {
  const { pools, sent } = await recorded(() => 1);
  await pools.lead('t', 1000);
  await pools.lead('t', 1000);
  await pools.finish(digests.slice(0, 1));
  const keys = scriptsOf(sent).map((one) => one.keys.length);
  assert.deepEqual(keys, [2 + 2 * 256, 3, 3, 2]);
});
