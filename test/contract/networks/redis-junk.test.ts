import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RedisPools } from '../../../agent/networks/redis/redis-pools.ts';
import { connected, digests, entryOf, failureOf, frameOf, verdictOf } from './networks-stage.ts';
import { RedisProcess, withoutRedis } from './redis-process.ts';

/** Texts that no agent writes. `good` is a frame or verdict as JSON. */
const junkLike = (good: string) => ['', '7', '[]', '{}', '"x"', good.slice(1)];

describe('what another program wrote into the pools', { skip: withoutRedis }, async () => {
  if (withoutRedis) return;
  const server = await RedisProcess.start();
  let crawls = 0;
  const newPools = async () => {
    const pools = await connected({ url: server.url(), crawl: `crawl${++crawls}` });
    await pools.setFilled();
    await pools.lead('t', 60_000);
    return pools;
  };
  const keyOf = (pools: RedisPools, name: string) =>
    `ubiring:{crawl${crawls}/berlin}:${pools.link.serverRun}:${name}`;
  const taskPool = () => `ubiring:{crawl${crawls}/berlin}:task_pool:a1`;

  test('a frame that no centre can claim is deleted, and does not keep back the others', async () => {
    const pools = await newPools();
    await pools.submit(frameOf('n', digests(1)));
    const stream = keyOf(pools, 'URL_pool');
    for (const parts of [
      { digests: [] },
      { flag: 2 as const },
      { flag: 3 as const, marks: 'q' },
      { network: 'paris' },
    ]) {
      const text = JSON.stringify(frameOf('m', digests(1), parts));
      await pools.link.call(['XADD', stream, '*', 'f', text]);
    }
    const { submitted } = await pools.take(100, 100);
    assert.deepEqual(
      submitted.map(({ frame }) => frame.number),
      ['n'],
    );
    assert.equal(await pools.link.call(['XLEN', stream]), 1);
  });

  test('entries that are no verdicts are deleted, and do not keep back the others', async () => {
    const pools = await newPools();
    const good = JSON.stringify(verdictOf('n', 1));
    for (const wrong of junkLike(good)) {
      await pools.link.call(['XADD', taskPool(), '*', 'v', wrong]);
    }
    await pools.link.call(['XADD', taskPool(), '*', 'v', good]);
    const looks = [];
    for (let look = 0; look < 4; look++) looks.push(await pools.verdicts('a1', '', 2));
    const numbers = looks.map((found) => found.map(({ verdict }) => verdict.number));
    assert.deepEqual(numbers, [[], [], [], ['n']]);
    assert.equal(await pools.link.call(['XLEN', taskPool()]), 1);
  });

  test('fields that are no claimed frame under its number are deleted', async () => {
    const pools = await newPools();
    await pools.claim('t', entryOf('n', digests(1)));
    const pool = keyOf(pools, 'dist_reduce_pool');
    const good = frameOf('m', digests(1, 'm'), { marks: '0' });
    const { marks: _, ...unmarked } = good;
    for (const wrong of [
      ...junkLike(JSON.stringify(good)),
      JSON.stringify(unmarked),
      JSON.stringify({ ...good, number: 'other' }),
      JSON.stringify({ ...good, network: 'paris' }),
      JSON.stringify({ ...unmarked, flag: 2 }),
    ]) {
      await pools.link.call(['HSET', pool, 'm', wrong]);
      const open = await pools.openFrames();
      assert.deepEqual(
        open.map(({ number }) => number),
        ['n'],
        wrong,
      );
      assert.deepEqual(await pools.link.call(['HKEYS', pool]), ['n'], wrong);
    }
  });

  test('a frame with odd marks is claimed at the next attempt', async () => {
    for (const name of ['dist_reduce_pool', 'local_reduce_pool']) {
      const pools = await newPools();
      await pools.link.call(['HSET', keyOf(pools, name), 'n', 'xy']);
      assert.equal(await pools.claim('t', entryOf('n', digests(2))), null, name);
      await pools.openFrames();
      const marks = await pools.claim('t', entryOf('n', digests(2)));
      assert.equal(marks, '00', name);
    }
  });

  test('a kept frame has no other parts than a frame has, and its marks last', async () => {
    const pools = await newPools();
    const text = JSON.stringify({ more: 1, marks: 'q', ...frameOf('n', digests(1)) });
    await pools.link.call(['XADD', keyOf(pools, 'URL_pool'), '*', 'f', text]);
    for (const entry of (await pools.take(9, 9)).submitted) await pools.claim('t', entry);
    const kept = frameOf('n', digests(1), { marks: '0' });
    assert.deepEqual(await pools.openFrames(), [kept]);
  });

  test('a centre without end of its role loses it after leaseMs', async () => {
    const pools = await newPools();
    await pools.link.call(['SET', keyOf(pools, 'centre'), 'junk']);
    assert.equal(await pools.lead('t', 60_000), false);
    const leftMs = Number(await pools.link.call(['PTTL', keyOf(pools, 'centre')]));
    assert.ok(leftMs > 0 && leftMs <= 60_000, String(leftMs));
  });

  test('a stream that has no next id is deleted, so the next attempt succeeds', async () => {
    const pools = await newPools();
    const frame = frameOf('n', digests(1));
    await pools.claim('t', entryOf('n', digests(1)));
    const give = () => pools.give([{ url: 'http://a/', depth: 0 }], 'work gift 1');
    for (const [stream, operation] of [
      [keyOf(pools, 'URL_pool'), () => pools.submit(frame)],
      [keyOf(pools, 'inbox'), () => pools.ask(frame)],
      [keyOf(pools, 'gifts'), give],
      [taskPool(), () => pools.settle('t', 'a1', verdictOf('n', 1), [])],
    ] as const) {
      await pools.link.call(['XADD', stream, '18446744073709551615-18446744073709551615', 'f', '']);
      await assert.rejects(operation(), /written by another program, and is deleted/, stream);
      await operation();
      assert.equal(await pools.link.call(['XLEN', stream]), 1, stream);
    }
  });

  test('a network whose key of the server has a wrong type is connected to', async () => {
    const pools = await newPools();
    const key = `ubiring:{crawl${crawls}/berlin}:server`;
    await pools.link.call(['DEL', key]);
    await pools.link.call(['LPUSH', key, 'x']);
    const again = await connected({ url: server.url(), crawl: `crawl${crawls}` });
    assert.equal(await again.link.call(['GET', key]), again.link.serverRun);
  });

  test('a mark that is no text does not keep the network from rest', async () => {
    const pools = await newPools();
    const write = "return redis.call('SET', KEYS[1], 'rest \\255')";
    await pools.link.call(['EVAL', write, '1', keyOf(pools, 'mark')]);
    const read = [(await pools.presence()).mark, (await pools.presence()).mark];
    assert.equal(await pools.mark(read[1]!, 'rest 1'), 'rest 1');
  });

  test('claims are doubted although the set is full of what nobody examines', async () => {
    const pools = await newPools();
    const junk = Array.from({ length: 1000 }, (_, i) => `junk ${i}`);
    await pools.link.call(['SADD', keyOf(pools, 'doubted'), ...junk]);
    const urls = Array.from({ length: 100 }, (_, i) => `http://a.test/${i}`);
    await pools.doubt(urls);
    const doubted = await pools.doubted(2000);
    assert.equal(doubted.length, 1000);
    assert.ok(doubted.filter((one) => one.startsWith('http')).length > 50);
  });

  test('settings that are none are refused with the key that is to be deleted', async () => {
    const crawl = `crawl${++crawls}`;
    const settings = '{"dedup":{"leaseMs":6000}}';
    const pools = await connected({ url: server.url(), crawl, settings });
    const key = keyOf(pools, 'settings');
    for (const junk of ['junk', '7', '[]']) {
      await pools.link.call(['SET', key, junk]);
      const failure = await failureOf(pools.presence());
      assert.equal(failure.code, 'refused');
      const end = `another program wrote its key ${key}; delete this key`;
      assert.ok(failure.message.endsWith(end), failure.message);
    }
    await pools.link.call(['DEL', key]);
    await pools.presence();
  });
});
