// A Redis whose clock is wrong, or is set while networks use it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { RedisPools } from '../../../agent/networks/redis/redis-pools.ts';
import { connected, digests, entryOf, lookMs, verdictOf } from './networks-stage.ts';
import { RedisClock, withoutClock } from './redis-clock.ts';

const hour = 3_600_000;
const year = 365 * 24 * hour;
/** Leases that a test waits for. */
const shortMs = 300;

async function acquire(pools: RedisPools, network: string, leaseMs: number, delayMs = 0) {
  const [grant] = await pools.acquire(network, [{ host: 'h', delayMs }], leaseMs, 'g');
  return grant!.waitMs;
}

async function timeOf(pools: RedisPools): Promise<number> {
  const [seconds] = (await pools.link.call(['TIME'])) as [string];
  return 1000 * Number(seconds);
}

describe('a Redis with another clock', { skip: withoutClock }, async () => {
  if (withoutClock) return;

  for (const ms of [-20 * year, 20 * year]) {
    test(`a clock that is ${ms / year} years ahead changes nothing`, async () => {
      const { server } = await RedisClock.start(ms);
      const pools = await connected({ url: server.url() });
      assert.ok(Math.abs((await timeOf(pools)) - Date.now() - ms) < year);
      const list = digests(2);
      await pools.setFilled();
      assert.equal(await pools.lead('t', hour), true);
      assert.equal(await pools.claim('t', entryOf('n', list)), '00');
      await pools.settle('t', 'a1', verdictOf('n', 2), []);
      await pools.finish([list[0]!]);
      assert.equal(await pools.marksOf(list), 'fq');
      assert.equal((await pools.verdicts('a1', '0', 9)).length, 1);
      assert.equal(await acquire(pools, 'berlin', hour), 0);
      assert.equal(await acquire(pools, 'paris', hour), null);
      assert.equal(await pools.lead('other', hour), false);
    });
  }

  test('a clock that is set back makes no lease, role or line longer', async () => {
    const clock = await RedisClock.start();
    const pools = await connected({ url: clock.server.url() });
    assert.equal(await pools.lead('t', shortMs), true);
    assert.equal(await acquire(pools, 'berlin', shortMs), 0);
    assert.equal(await acquire(pools, 'rome', shortMs), null);
    clock.moveTo(-10 * hour);
    // Nobody renews; another agent and another network ask again and again.
    while (!(await pools.lead('other', shortMs))) await pause(lookMs);
    while ((await acquire(pools, 'paris', shortMs)) === null) await pause(lookMs);
  });

  test('verdicts arrive although the clock is set back', async () => {
    const clock = await RedisClock.start();
    const pools = await connected({ url: clock.server.url() });
    await pools.lead('t', hour);
    let cursor = '0';
    for (const number of ['1', '2', '3']) {
      await pools.claim('t', entryOf(number, digests(1)));
      await pools.settle('t', 'a1', verdictOf(number, 1), []);
      const found = await pools.verdicts('a1', cursor, 9);
      assert.deepEqual(
        found.map(({ verdict }) => verdict.number),
        [number],
      );
      cursor = found[0]!.id;
      clock.moveTo(-10 * hour * Number(number));
      await pools.lead('t', hour);
    }
  });

  test('a clock that is set forward ends leases, and the delay follows', async () => {
    const clock = await RedisClock.start();
    const pools = await connected({ url: clock.server.url() });
    await pools.setFilled();
    await pools.finish(digests(1));
    assert.equal(await acquire(pools, 'berlin', hour, hour), 0);
    clock.moveTo(1.5 * hour);
    const left = await acquire(pools, 'paris', hour);
    assert.ok(left !== null && left > 0 && left <= hour, String(left));
    // Its next renewal tells the network that had it.
    assert.equal(await acquire(pools, 'berlin', hour, hour), null);
    assert.equal(await pools.marksOf(digests(2)), 'f0');
    // After two weeks all is gone: the pools are not filled.
    clock.moveTo(year);
    assert.equal(await pools.marksOf(digests(2)), null);
    assert.deepEqual(await pools.filledBy(), []);
  });
});
