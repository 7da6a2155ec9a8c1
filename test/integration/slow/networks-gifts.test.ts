// A network whose only seed may not be fetched is at rest at once. The other one, with more hosts than
// it can visit, gives it some of them.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import type { NetworksAudit } from '../../../agent/cli/audit/audit-networks.ts';
import { RedisProcess, withoutRedis } from '../../contract/networks/redis-process.ts';
import { patient, run, start } from '../cli-process.ts';
import { assertCode, assertWhole, crawlOf, size } from '../cluster-stage.ts';

/** With `wait`, an answer that is only late leads to no page that both fetch. */
const times = { onTimeout: 'wait', timeoutMs: 500, leaseMs: 3000 };

test('a network at rest gets hosts of another one', { skip: withoutRedis }, async (t) => {
  const redis = await RedisProcess.start();
  const networks = { berlin: redis.url(), paris: redis.url() };
  const crawl = await crawlOf(t, 127, 1, [], patient);
  const { web } = crawl.web;
  const closed = Array.from({ length: size.hosts }, (_, host) => host).find((i) =>
    web.hasRobots(i),
  )!;
  const config = JSON.parse(fs.readFileSync(crawl.config, 'utf8')) as Record<string, object>;
  const files = Object.keys(networks).map((network) =>
    crawl.scratch.write(`${network}.json`, {
      ...config,
      ...(network === 'paris' && { seeds: [`${web.origin(closed)}/private/none`] }),
      politeness: { hostDelayMs: 500 },
      agent: { ...config.agent, dataDir: network },
      cluster: { ...config.cluster, agents: 1 },
      dedup: { mode: 'redis', network, networks, ...times },
    }),
  );
  const launches = files.map((file) => start(['launch', file]));
  for (const { ended } of launches) assertCode(await ended, 0);
  assertWhole(crawl, 0);
  const audited = await run('audit', ...files, '--json');
  assertCode(audited, 0);
  const { all } = JSON.parse(audited.stdout) as NetworksAudit;
  assert.deepEqual([all.overlap.count, all.missing.count, all.queued], [0, 0, 0]);
  assert.ok(all.fetchedBy.paris! > 0, 'its own seed leads nowhere');
});
