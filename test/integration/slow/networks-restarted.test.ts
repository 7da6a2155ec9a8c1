// Two networks crawl one web, and their Redis is killed meanwhile. It comes back with its file, with
// an old file, or empty: no page is missing, and few are fetched twice.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import type { NetworksAudit } from '../../../agent/cli/audit/audit-networks.ts';
import { connected } from '../../contract/networks/networks-stage.ts';
import { RedisProcess, withoutRedis } from '../../contract/networks/redis-process.ts';
import { start } from '../cli-process.ts';
import { assertCode, crawlOf } from '../cluster-stage.ts';

/** With `wait`, only pages in batches that were open when Redis was killed may be fetched again. */
const times = { onTimeout: 'wait', timeoutMs: 500, leaseMs: 5000 };
const batch = 20;
const kinds = ['aof', 'old', 'empty'] as const;
for (const [i, kind] of kinds.entries()) {
  test(`Redis is killed and comes back: ${kind}`, { skip: withoutRedis }, async (t) => {
    const options = kind === 'aof' ? ['--appendonly', 'yes'] : [];
    const redis = await RedisProcess.start(...options);
    const networks = { berlin: redis.url(), paris: redis.url() };
    const crawl = await crawlOf(t, 91 + i, 1);
    const config = JSON.parse(fs.readFileSync(crawl.config, 'utf8')) as Record<string, object>;
    const files = Object.keys(networks).map((network, n) => {
      const dedup = { mode: 'redis', network, networks, ...times };
      return crawl.scratch.write(`${network}.json`, {
        ...config,
        agent: { ...config.agent, dataDir: network },
        // Their ports are free ones.
        cluster: { ...config.cluster, agents: 1 },
        dedup: { ...dedup, batch: batch + n },
      });
    });
    const launches = files.map((file) => start(['launch', file]));
    await crawl.served(40);
    const pools = await connected({ url: redis.url() });
    if (kind === 'old') await pools.link.call(['SAVE']);
    pools.close();
    await crawl.served(30);
    await redis.stop('SIGKILL');
    await redis.start();
    for (const { ended } of launches) assertCode(await ended, 0);
    const audited = await start(['audit', ...files, '--json']).ended;
    assertCode(audited, 0);
    const { all } = JSON.parse(audited.stdout) as NetworksAudit;
    assert.ok(all.overlap.count <= 2 * batch, `fetched by both: ${all.overlap.count}`);
    assert.deepEqual([all.missing.count, all.queued], [0, 0]);
  });
}
