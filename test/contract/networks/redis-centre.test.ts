// The role of the centre in Redis, and what other networks do while a network has no centre.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connected, crawlsAt, digests, entryOf, verdictOf } from './networks-stage.ts';
import { RedisProcess, withoutRedis } from './redis-process.ts';

describe('the centre in Redis', { skip: withoutRedis }, async () => {
  if (withoutRedis) return;
  const server = await RedisProcess.start();
  const { crawl, newPools } = crawlsAt(server.url());

  test('of two centres only the one with the role changes anything', async () => {
    const [pools, other] = [
      await newPools(),
      await connected({ url: server.url(), crawl: crawl() }),
    ];
    const list = digests(2);
    assert.equal((await pools.presence()).hasCentre, false);
    const got = await Promise.all([pools.lead('a1.1', 60_000), other.lead('a2.1', 60_000)]);
    assert.equal(got.filter(Boolean).length, 1);
    const [token, wrong] = got[0] ? ['a1.1', 'a2.1'] : ['a2.1', 'a1.1'];
    assert.equal((await pools.presence()).hasCentre, true);
    assert.equal(await pools.claim(wrong!, entryOf('n', list)), null);
    assert.equal(await pools.marksOf(list), '00');
    assert.equal(await pools.claim(token!, entryOf('n', list)), '00');
    assert.equal(await other.settle(wrong!, 'a1', verdictOf('n', 2), list), false);
    assert.equal(await pools.marksOf(list), 'qq');
    assert.deepEqual(await pools.verdicts('a1', '', 1), []);
    // It renews its role, and the other cannot end it.
    assert.equal(await pools.lead(token!, 60_000), true);
    await other.resign(wrong!);
    assert.equal(await other.lead(wrong!, 60_000), false);
    await pools.resign(token!);
    assert.equal((await pools.presence()).hasCentre, false);
    assert.equal(await other.lead(wrong!, 60_000), true);
  });

  test('the role of a centre that fails ends by itself', async () => {
    const pools = await newPools();
    await pools.lead('a1.1', 5);
    while ((await pools.presence()).hasCentre) await pools.link.call(['PING']);
    assert.equal(await pools.claim('a1.1', entryOf('n', digests(1))), null);
    assert.equal(await pools.lead('a2.1', 60_000), true);
  });

  test('claims lapse only while there is no centre, and are counted', async () => {
    const pools = await newPools();
    const list = digests(3);
    await pools.lead('a1.1', 60_000);
    await pools.claim('a1.1', entryOf('n', list));
    await pools.setFilled();
    assert.equal(await pools.lapse(list), false);
    assert.equal(await pools.marksOf(list), 'qqq');
    assert.equal(await pools.lapses(), 0);
    await pools.resign('a1.1');
    assert.equal(await pools.lapse([]), true);
    assert.equal(await pools.lapse(list.slice(1)), true);
    assert.equal(await pools.lapses(), null);
    await pools.lead('a1.2', 60_000);
    assert.equal(await pools.marksOf(list), 'q00');
    assert.equal(await pools.lapses(), 1);
  });
});
