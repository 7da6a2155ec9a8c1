// Runs each query of docs/COOKBOOK.md over a crawl that was killed in part, so that there is something
// to see.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { run, start, until } from './cli-process.ts';
import { crawlOf } from './cluster-stage.ts';

const page = path.resolve(import.meta.dirname, '../../docs/COOKBOOK.md');
/** What a small polite web, or a crawl that is complete, does not have. */
const OFTEN_EMPTY = [
  'pages_queued > 0',
  'backing off',
  "robots = 'unreachable'",
  'canonical',
  'samples',
  'copies',
];

test('every query of the cookbook runs, and shows rows where the crawl has them', async (t) => {
  const text = fs.readFileSync(page, 'utf8');
  const queries = [...text.matchAll(/```sql\n([^`]+)```/g)].map(([, sql]) => sql!);
  assert.equal(queries.length, 20);
  const crawl = await crawlOf(t, 122, 3);
  const launch = start(['launch', crawl.config]);
  await crawl.served(40);
  await until('a2 runs', () => crawl.scratch.pid('a2') !== null);
  process.kill(crawl.scratch.pid('a2')!, 'SIGKILL');
  assert.equal((await launch.ended).code, 0);
  for (const sql of queries) {
    const { code, stdout, stderr } = await run('query', crawl.config, sql, '--json');
    assert.equal(code, 0, `${sql}\n${stderr}`);
    const rows = JSON.parse(stdout) as unknown[];
    const mayBeEmpty = OFTEN_EMPTY.some((part) => sql.includes(part));
    assert.ok(rows.length > 0 || mayBeEmpty, `no rows: ${sql}`);
  }
});
