// A Redis Cluster whose nodes fail: it is waited for, and a replica is found.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connected, digests, failureOf, reconnected } from '../networks/networks-stage.ts';
import { RedisCluster } from '../networks/redis-cluster.ts';
import { withoutRedis } from '../networks/redis-process.ts';

const list = digests(10);

describe('a Redis Cluster with failures', { skip: withoutRedis }, async () => {
  if (withoutRedis) return;
  const cluster = await RedisCluster.start();

  /** Filled pools that are connected to the node of their keys. */
  async function newPools(crawl: string) {
    const owner = await cluster.ownerOf(await cluster.slotOf(`ubiring:{${crawl}/berlin}:server`));
    const pools = await connected({ url: cluster.nodes[owner]!.url(), crawl });
    await pools.setFilled();
    await pools.hold(list);
    await pools.finish(list.slice(0, 3));
    return { pools, owner };
  }

  test('a cluster that is down is waited for', async () => {
    const { pools, owner } = await newPools('c1');
    const other = (owner + 1) % 3;
    await cluster.nodes[other]!.stop();
    await cluster.settled('fail');
    const failure = await failureOf(pools.marksOf(list));
    assert.equal(failure.code, 'unreachable');
    assert.match(failure.message, /its cluster is down \(CLUSTERDOWN\)$/);
    await cluster.nodes[other]!.start();
    await cluster.settled('ok');
    await reconnected(pools);
    // The process is the same.
    assert.equal(await pools.marksOf(list), 'fffqqqqqqq');
  });

  test('a replica takes the place of a node that failed', async () => {
    const { pools, owner } = await newPools('c2');
    await cluster.addReplica(owner);
    await cluster.command(owner, 'WAIT', '1', '0');
    await cluster.nodes[owner]!.stop('SIGKILL');
    await failureOf(pools.marksOf(list));
    await reconnected(pools);
    assert.equal(await pools.marksOf(list), null);
    await pools.setFilled();
    assert.equal(await pools.marksOf(list), 'fff0000000');
  });
});
