// Two networks of two real agents each crawl one web, with their pools in one real Redis. Together
// they fetch every page, none twice, and the log of the web server shows no host visited by both.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient } from '@redis/client';
import Database from 'better-sqlite3';
import type { NetworksAudit } from '../../agent/cli/audit/audit-networks.ts';
import { RedisProcess, withoutRedis } from '../contract/networks/redis-process.ts';
import { patient, run, start, untilJoined } from './cli-process.ts';
import { assertCode, assertWhole, crawlOf, size } from './cluster-stage.ts';
import { startGate } from './gate-server.ts';

/** With `wait`, an answer that is only late leads to no page that both fetch. */
const times = { onTimeout: 'wait', timeoutMs: 500, leaseMs: 20_000 };

test('two networks fetch every page once', { skip: withoutRedis }, async (t) => {
  const redis = await RedisProcess.start();
  const networks = { berlin: redis.url(), paris: redis.url() };
  const crawl = await crawlOf(t, 97, 2, [], patient);
  // The networks run until it is open.
  const gate = await startGate();
  t.after(() => gate.stop());
  const config = JSON.parse(fs.readFileSync(crawl.config, 'utf8')) as Record<string, object>;
  const files = Object.keys(networks).map((network, i) => {
    const ports = (config.cluster as { agents: object[] }).agents;
    const half = size.hosts / 2;
    const own = Array.from({ length: half }, (_, k) => `${crawl.web.web.origin(i * half + k)}/`);
    return crawl.scratch.write(`${network}.json`, {
      ...config,
      seeds: [...(config.seeds as string[]), ...own, gate.seed],
      agent: { ...config.agent, dataDir: network },
      cluster: { ...config.cluster, agents: ports.length },
      dedup: { mode: 'redis', network, networks, ...times, batch: 50 + i },
    });
  });
  const launches = files.map((file) => start(['launch', file]));
  await untilJoined(files[0]!, 'a1', 'a2');
  const rome = crawl.scratch.write('rome.json', {
    ...JSON.parse(fs.readFileSync(files[0]!, 'utf8')),
    agent: { ...config.agent, dataDir: 'rome' },
    cluster: { ...config.cluster, agents: 1 },
    dedup: {
      mode: 'redis',
      network: 'rome',
      networks: { ...networks, rome: redis.url() },
      ...times,
    },
  });
  const refused = await start(['launch', rome]).ended;
  assertCode(refused, 5);
  assert.match(
    refused.stderr,
    /berlin runs with dedup.networks .*rome.*write the same in the confi/,
  );
  gate.open();
  const printed: string[] = [];
  for (const [k, { ended }] of launches.entries()) {
    const end = await ended;
    printed.push(end.stdout);
    assertCode(end, 0);
    assert.match(end.stderr, RegExp(`, network ${Object.keys(networks)[k]}: 2 agents, state in `));
  }
  assertWhole(crawl, 0);
  assert.deepEqual(await rolesIn(redis), [], 'networks that have ended have no centre');
  const counts = Object.keys(networks).map((network) => {
    const ids = fs.readdirSync(join(crawl.scratch.directory, network));
    const states = ids.map((id) => join(crawl.scratch.directory, network, id, 'state.sqlite'));
    // Two files of a network may have one host, if an agent was suspected.
    const all = (sql: string) => {
      const rows = states
        .filter((file) => fs.existsSync(file))
        .flatMap((file) => {
          const db = new Database(file, { readonly: true });
          const found = db.prepare<[], string>(sql).pluck().all();
          db.close();
          return found;
        });
      return new Set(rows).size;
    };
    return {
      pages: all('SELECT url FROM pages'),
      waiting: all('SELECT url FROM frontier'),
      unreported: all('SELECT id FROM unreported'),
      elsewhere: all("SELECT url FROM skipped WHERE reason = 'elsewhere'"),
    };
  });
  for (const { waiting, unreported } of counts) assert.deepEqual([waiting, unreported], [0, 0]);
  const elsewhere = counts.reduce((sum, one) => sum + one.elsewhere, 0);
  assert.ok(elsewhere > 0, 'the networks have the same seed');
  for (const [k, { elsewhere: urls }] of counts.entries()) {
    const other = Object.keys(networks)[1 - k];
    const left = `\n${urls} URLs? (is|are) left to other networks: ${other} ${urls}\n`;
    if (urls > 0) assert.match(printed[k]!, RegExp(left));
  }
  const audited = await run('audit', ...files, '--json');
  assertCode(audited, 0);
  const { all, networks: each } = JSON.parse(audited.stdout) as NetworksAudit;
  assert.deepEqual(Object.keys(each), ['berlin', 'paris']);
  assert.deepEqual([all.overlap.count, all.missing.count, all.queued], [0, 0, 0]);
  assert.equal(
    all.fetchedBy.berlin! + all.fetchedBy.paris!,
    counts.reduce((sum, { pages }) => sum + pages, 0),
  );
  const twice = await run('audit', files[0]!, files[0]!);
  assertCode(twice, 4);
  assert.match(twice.stderr, /name each network once/);
  assertCode(await run('audit', ...files, '--data', 'x'), 2);
  fs.rmSync(join(crawl.scratch.directory, 'paris'), { recursive: true });
  const lost = await run('audit', ...files);
  assertCode(lost, 4);
  assert.match(
    lost.stderr,
    /network paris: no agent has a state in .*; correct agent\.dataDir in /,
  );
});

/** Keys that exist while a network has a centre. */
async function rolesIn(redis: RedisProcess): Promise<string[]> {
  const client = createClient({ url: redis.url() });
  await client.connect();
  const keys = await client.keys('*');
  client.destroy();
  return keys.filter((key) => /:(?:centre|settings|home)\b/.test(key));
}
