// A Redis Cluster: all keys of a network are in one slot, which the cluster may move, whose node may
// fail, and which the connection follows.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RedisPools } from '../../../agent/networks/redis/redis-pools.ts';
import {
  connected,
  digests,
  entryOf,
  failureOf,
  frameOf,
  opened,
  reconnected,
  verdictOf,
} from './networks-stage.ts';
import { RedisCluster } from './redis-cluster.ts';
import { withoutRedis } from './redis-process.ts';

const hour = 3_600_000;
const list = digests(1200);
const host = { host: 'h', delayMs: 0 };

/** Fills the pools with something of everything. */
async function fill(pools: RedisPools): Promise<void> {
  await pools.setFilled();
  assert.equal(await pools.lead('t', hour), true);
  assert.equal(await pools.claim('t', entryOf('n', list)), '0'.repeat(1200));
  assert.equal(await pools.settle('t', 'a1', verdictOf('n', 1200), list.slice(600)), true);
  await pools.finish(list.slice(0, 300));
  assert.equal((await pools.acquire('berlin', [host], hour, 'g'))[0]!.waitMs, 0);
}

describe('pools in a Redis Cluster', { skip: withoutRedis }, async () => {
  if (withoutRedis) return;
  const cluster = await RedisCluster.start();
  let crawls = 0;

  /** Pools of a crawl of their own, with the slot of their keys and the node that has it. */
  async function newPools(by?: number) {
    const crawl = `c${++crawls}`;
    const slot = await cluster.slotOf(`ubiring:{${crawl}/berlin}:server`);
    const owner = await cluster.ownerOf(slot);
    const pools = await connected({ url: cluster.nodes[by ?? owner]!.url(), crawl });
    return { pools, crawl, slot, owner, other: (owner + 1) % 3 };
  }

  test('every operation finds its keys, whichever node is configured', async () => {
    for (const by of cluster.nodes.keys()) {
      const { pools, crawl } = await newPools(by);
      assert.deepEqual(await pools.filledBy(), []);
      await pools.addFilled('a1');
      await fill(pools);
      await pools.submit(frameOf('m', list));
      await pools.ask(frameOf('m', list, { flag: 2 }));
      const { submitted, inbox } = await pools.take(9, 9);
      assert.equal(inbox.length, 1);
      await pools.claim('t', submitted[0]!);
      assert.deepEqual(await pools.take(9, 9), { submitted: [], inbox: [] });
      assert.equal((await pools.openFrames()).length, 1);
      await pools.release(list.slice(1000));
      await pools.hold(list.slice(1100));
      const marks = 'f'.repeat(300) + 'q'.repeat(700) + '0'.repeat(100) + 'q'.repeat(100);
      assert.equal(await pools.marksOf(list), marks);
      assert.equal((await pools.verdicts('a1', '0', 9)).length, 1);
      const hosts = list.map((name) => ({ host: name, delayMs: 0 }));
      assert.equal((await pools.acquire('paris', hosts, hour, 'g')).length, 1200);
      await pools.releaseHosts(
        'paris',
        hosts.map((each) => ({ ...each, grant: 'g' })),
      );
      await pools.resign('t');
      assert.equal((await pools.presence()).hasCentre, false);
      // Agents that are connected through other nodes see the same.
      const direct = await connected({ url: cluster.nodes[(by + 1) % 3]!.url(), crawl });
      assert.equal(await direct.marksOf(list), marks);
    }
  });

  test('a database other than 0 is refused', async () => {
    const { ready } = await opened({ url: cluster.nodes[0]!.url(1) });
    const failure = await failureOf(ready);
    assert.equal(failure.code, 'refused');
    assert.match(failure.message, /it is in Cluster mode, which has only database 0/);
  });

  test('while keys are on two nodes, commands fail and change nothing', async () => {
    const { pools, slot, owner, other } = await newPools();
    await fill(pools);
    await cluster.beginMove(slot, owner, other);
    await cluster.moveKeys(slot, owner, other, /:finish_URL:|:lease:/);
    const cases = [
      [() => pools.finish(list.slice(300)), 'TRYAGAIN'],
      [() => pools.claim('t', entryOf('m', list)), 'TRYAGAIN'],
      [() => pools.acquire('paris', [host], hour, 'g'), 'ASK'],
    ] as const;
    for (const [work, reply] of cases) {
      const failure = await failureOf(work());
      assert.equal(failure.code, 'failed');
      assert.match(failure.message, /its cluster is moving the keys to another node/);
      assert.ok(failure.message.endsWith(`(${reply})`), failure.message);
      assert.equal(pools.link.failure, null);
    }
    // A connection that is opened now fails, too, and is opened later.
    const crawl = `c${crawls}`;
    await cluster.moveKeys(slot, owner, other);
    const { pools: late, ready } = await opened({ url: cluster.nodes[owner]!.url(), crawl });
    assert.match((await failureOf(ready)).message, /\(ASK\)$/);
    await cluster.finishMove(slot, other);
    await reconnected(late);
    await late.setFilled();
    assert.equal(await late.marksOf(list), 'f'.repeat(300) + '0'.repeat(900));
  });

  test('after a move the connection follows, and the pools are filled again', async () => {
    const { pools, slot, owner, other } = await newPools();
    await fill(pools);
    await cluster.move(slot, owner, other);
    const failure = await failureOf(pools.marksOf(list));
    assert.equal(failure.code, 'unreachable');
    assert.match(failure.message, /: another node of its cluster has the keys \(MOVED\)$/);
    await reconnected(pools);
    assert.equal(await pools.marksOf(list), null);
    assert.deepEqual(await pools.filledBy(), []);
    assert.equal((await pools.verdicts('a1', '0', 9)).length, 1);
    assert.equal((await pools.acquire('paris', [host], hour, 'g'))[0]!.waitMs, null);
    await pools.setFilled();
    assert.equal(await pools.marksOf(list), 'f'.repeat(300) + '0'.repeat(900));
    // Back at the first node, what was there before the moves is old.
    await pools.finish(list.slice(300, 600));
    await cluster.move(slot, other, owner);
    await failureOf(pools.marksOf(list));
    await reconnected(pools);
    assert.equal(await pools.marksOf(list), null);
    assert.deepEqual(await pools.openFrames(), []);
    assert.equal((await pools.presence()).hasCentre, false);
    await pools.setFilled();
    assert.equal(await pools.marksOf(list), 'f'.repeat(600) + '0'.repeat(600));
  });
});
