// A complete crawl that is run again with --refresh, on real processes: what the server is asked,
// what becomes of pages and archive, and that a round goes on where it was stopped or killed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readWarc } from '../unit/archive/reading.ts';
import { run } from './cli-process.ts';
import { type Asked, crawl, stage } from './refresh-stage.ts';

/** Types and profiles of the responses to pages in all archives. */
async function archived(dataDir: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const kept = new Set<string>();
  const revisits: { uri: string; key: string }[] = [];
  for (const agent of fs.readdirSync(dataDir)) {
    const warc = path.join(dataDir, agent, 'warc');
    if (!fs.existsSync(warc)) continue;
    for (const name of fs.readdirSync(warc).filter((file) => file.endsWith('.gz'))) {
      for (const { type, headers } of await readWarc(path.join(warc, name))) {
        const at = new Map(
          Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]),
        );
        const uri = at.get('warc-target-uri') ?? '';
        if (uri.endsWith('/robots.txt')) continue;
        const digest = at.get('warc-payload-digest');
        if (type === 'response') kept.add(`${uri} ${at.get('warc-date')} ${digest}`);
        if (type !== 'response' && type !== 'revisit') continue;
        const profile = at.get('warc-profile')?.split('/').at(-1) ?? '';
        const what = `${type} ${profile}`.trim();
        counts[what] = (counts[what] ?? 0) + 1;
        if (type !== 'revisit') continue;
        const to = [at.get('warc-refers-to-target-uri'), at.get('warc-refers-to-date'), digest];
        revisits.push({ uri, key: to.join(' ') });
      }
    }
  }
  for (const { uri, key } of revisits) assert.ok(kept.has(key), `${uri} points to nothing: ${key}`);
  return counts;
}

const byStatus = (asked: readonly Asked[]) => {
  const counts: Record<string, number> = {};
  for (const { status, conditional } of asked) {
    const what = `${status}${conditional ? ' asked by' : ''}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
};

test('refresh: every page is asked for once more, only what has changed is read', async (context) => {
  const { site, scratch, config, select, audited } = await stage(context, 3);
  await crawl(config, '--agents', '2');
  assert.deepEqual(byStatus(site.asked), { 200: 20 });
  const digests = 'SELECT url, digest FROM pages ORDER BY url';
  const states = 'SELECT status, unchanged, count(*) AS n FROM pages GROUP BY 1, 2';
  const before = await select(digests);
  site.asked.length = 0;
  // A third agent takes its share of the hosts: what the servers gave moves with them.
  await crawl(config, '--refresh');
  assert.deepEqual(byStatus(site.asked), { '304 asked by': 16, 200: 4 });
  assert.deepEqual(await select(digests), before);
  assert.deepEqual(await select(states), [{ status: 200, unchanged: 1, n: 20 }]);
  assert.deepEqual(await archived(scratch.dataDir), {
    response: 20,
    'revisit server-not-modified': 16,
    'revisit identical-payload-digest': 4,
  });

  site.asked.length = 0;
  site.version = 2;
  await crawl(config, '--refresh');
  assert.deepEqual(byStatus(site.asked), { '304 asked by': 12, '200 asked by': 4, 200: 8 });
  assert.deepEqual(await select(states), [
    { status: 200, unchanged: 0, n: 8 },
    { status: 200, unchanged: 1, n: 16 },
  ]);
  assert.deepEqual(await archived(scratch.dataDir), {
    response: 28,
    'revisit server-not-modified': 28,
    'revisit identical-payload-digest': 8,
  });
  await audited();
});

test('refresh: is not for a crawl that is not complete, nor together with --fresh', async (context) => {
  const { site, config } = await stage(context, 1);
  const both = await run('launch', config, '--fresh', '--refresh');
  assert.equal(both.code, 2, both.stderr);
  assert.match(await crawl(config, '--refresh'), /not complete and continues; --refresh needs/);
  assert.equal(site.asked.length, 20);
});
