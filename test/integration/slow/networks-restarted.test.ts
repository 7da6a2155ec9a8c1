// Two networks crawl one web, and their Redis fails meanwhile. It comes back with an old file;
// Sentinels make a replica the master; or a cluster moves the keys of a network to another node and
// back. Or one of the networks is stopped. No page is missing, and few are fetched twice.
// `test/simulation/network-swarm.test.ts` has the other forms in which Redis returns.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import type { NetworksAudit } from '../../../agent/cli/audit/audit-networks.ts';
import { connected } from '../../contract/networks/networks-stage.ts';
import { RedisCluster } from '../../contract/networks/redis-cluster.ts';
import { RedisProcess, withoutRedis } from '../../contract/networks/redis-process.ts';
import { startSentinel, untilKnown } from '../../contract/networks/redis-sentinel.ts';
import { type Running, run, start, until, untilAsked } from '../cli-process.ts';
import { assertCode, type Crawl, crawlOf } from '../cluster-stage.ts';

/** With `wait`, only pages in batches that were open during the failure may be fetched again. */
const times = { onTimeout: 'wait', timeoutMs: 500, leaseMs: 5000 };
const batch = 20;

/**
 * @param fail - called once the networks crawl
 * @param more - keys of the configs
 */
async function crawlBoth(
  t: TestContext,
  second: number,
  url: string,
  fail: (crawl: Crawl, name: string, files: string[], launches: Running[]) => Promise<void>,
  more: (crawl: Crawl, n: number) => Readonly<Record<string, unknown>> = () => ({}),
  overlapMax = 2 * batch,
): Promise<void> {
  const networks = { berlin: url, paris: url };
  const crawl = await crawlOf(t, second, 1);
  const config = JSON.parse(fs.readFileSync(crawl.config, 'utf8')) as Record<string, object>;
  const files = Object.keys(networks).map((network, n) => {
    const dedup = { mode: 'redis', network, networks, ...times };
    return crawl.scratch.write(`${network}.json`, {
      ...config,
      agent: { ...config.agent, dataDir: network },
      // Their ports are free ones.
      cluster: { ...config.cluster, agents: 1 },
      dedup: { ...dedup, batch: batch + n },
      ...more(crawl, n),
    });
  });
  const launches = files.map((file) => start(['launch', file]));
  await crawl.served(40);
  await fail(crawl, String(config.name), files, launches);
  for (const { ended } of launches) assertCode(await ended, 0);
  const audited = await run('audit', ...files, '--json');
  assertCode(audited, 0);
  const { all } = JSON.parse(audited.stdout) as NetworksAudit;
  assert.ok(all.overlap.count <= overlapMax, `fetched by both: ${all.overlap.count}`);
  assert.deepEqual([all.missing.count, all.queued], [0, 0]);
}

test('Redis is killed and comes back with an old file', { skip: withoutRedis }, async (t) => {
  const redis = await RedisProcess.start();
  await crawlBoth(t, 92, redis.url(), async (crawl) => {
    const pools = await connected({ url: redis.url() });
    await pools.link.call(['SAVE']);
    pools.close();
    await crawl.served(30);
    await redis.stop('SIGKILL');
    await redis.start();
  });
});

test('a network that is stopped has reported its pages, and asks about the others when it returns', {
  skip: withoutRedis,
}, async (t) => {
  const redis = await RedisProcess.start();
  await crawlBoth(
    t,
    122,
    redis.url(),
    async (crawl, _, files, launches) => {
      const count = (k: number, table: string) => {
        const state = join(crawl.scratch.directory, ['berlin', 'paris'][k]!, 'a1', 'state.sqlite');
        if (!fs.existsSync(state)) return 0;
        const db = new Database(state, { readonly: true });
        const rows = db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get()!;
        db.close();
        return rows;
      };
      // The other one has found URLs that this one had queued.
      const left = "frontier WHERE state = 'elsewhere'";
      const busy = () => [0, 1].find((k) => count(k, 'pages') > 5 && count(1 - k, left) > 5);
      await until('a network has fetched pages', () => busy() !== undefined);
      const k = busy()!;
      assertCode(await run('stop', files[k]!), 0);
      assertCode(await launches[k]!.ended, 11);
      assert.equal(count(k, 'unreported'), 0);
      // Until the other one has taken some of them.
      const pools = await connected({ url: redis.url() });
      await untilAsked('claims have lapsed', async () => {
        return ((await pools.link.call(['KEYS', '*:lapses'])) as string[]).length > 0;
      });
      pools.close();
      launches[k] = start(['launch', files[k]!]);
    },
    // Neither network is complete for ten seconds.
    ({ web: { web } }, n) => ({
      ...{ seeds: [`${web.origin(n)}/`], politeness: { hostDelayMs: 1000 } },
    }),
    0,
  );
});

test('Sentinels make a replica the master', { skip: withoutRedis }, async (t) => {
  const primary = await RedisProcess.start('--repl-diskless-sync-delay', '0');
  const replica = await RedisProcess.start('--replicaof', '127.0.0.1', String(primary.port));
  const ports = await Promise.all([1, 2, 3].map(() => startSentinel(primary.port)));
  const sentinels = ports.map((port) => `127.0.0.1:${port}`).join(',');
  await untilKnown(ports, replica.port);
  await crawlBoth(t, 126, `redis-sentinel://${sentinels}/0#main`, async () => {
    await primary.stop('SIGKILL');
  });
});

test('a cluster moves the keys of a network', { skip: withoutRedis }, async (t) => {
  const cluster = await RedisCluster.start();
  await crawlBoth(t, 90, cluster.nodes[0]!.url(), async (crawl, name) => {
    const log = (network: string) =>
      fs.readFileSync(join(crawl.scratch.directory, network, 'a1/agent.log'), 'utf8');
    // A network ends early if the other one has all that it knows.
    const network = log('berlin').includes('the crawl is complete') ? 'paris' : 'berlin';
    const tag = `ubiring:{${name}/${network}}`;
    const slot = await cluster.slotOf(tag);
    const from = await cluster.ownerOf(slot);
    const to = (from + 1) % 3;
    await cluster.move(slot, from, to);
    const id = /run_id:(\w+)/.exec(String(await cluster.command(to, 'INFO')))![1];
    while ((await cluster.command(to, 'EXISTS', `${tag}:${id}:filled`)) === 0) {
      await crawl.served(1);
    }
    await cluster.move(slot, to, from);
    // Its agent was connected to both nodes.
    const moves = () => log(network).split('another node of its cluster').length - 1;
    await until('the second move in the log', () => moves() >= 2);
  });
});
