// Samples of the counters: what is kept, and what is dropped when there are too many.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import Database from 'better-sqlite3';
import { MIGRATIONS } from '../../../../agent/storage/schema/migrations.ts';
import { SampleTable } from '../../../../agent/storage/tables/sample-table.ts';

const ROWS_MAX = 10_000;
const SAMPLE = {
  ...{ pages: 10, queued: 20, hosts: 3, outbox: 1 },
  ...{ pagesPerSecond: 12.3456, loopDelayMs: 7.77, rssBytes: 1e8 },
};

function opened() {
  const db = new Database(':memory:');
  db.exec(MIGRATIONS.find((sql) => sql.includes('CREATE TABLE sample_rows'))!);
  return db;
}

it('a sample is in the view', () => {
  const db = opened();
  new SampleTable(db).save(1_700_000_000_000.4, SAMPLE);
  assert.deepEqual(db.prepare('SELECT * FROM samples').all(), [
    {
      ...{ at: 1_700_000_000_000, pages: 10, queued: 20, hosts: 3, outbox: 1 },
      ...{ pages_per_second: 12.3, loop_delay_ms: 7.8, rss_bytes: 1e8 },
    },
  ]);
});

it('many samples are thinned out in the older half, also after a restart, and span the same time', () => {
  const db = opened();
  let table = new SampleTable(db);
  db.exec('BEGIN');
  const rows = () => db.prepare<[], number>('SELECT at FROM samples ORDER BY at').pluck().all();
  for (let at = 0; at < ROWS_MAX; at++) table.save(at, SAMPLE);
  assert.equal(rows().length, ROWS_MAX);
  table = new SampleTable(db);
  table.save(ROWS_MAX, SAMPLE);
  const thinned = rows();
  assert.equal(thinned.length, ROWS_MAX - ROWS_MAX / 4 + 1);
  assert.deepEqual(thinned.slice(0, 3), [0, 2, 4]);
  assert.deepEqual(thinned.slice(-2), [ROWS_MAX - 1, ROWS_MAX]);
  for (let at = ROWS_MAX + 1; at < 4 * ROWS_MAX; at++) {
    table.save(at, SAMPLE);
  }
  const many = rows();
  assert.ok(many.length <= ROWS_MAX + 1, `${many.length} rows`);
  assert.deepEqual([many[0], many.at(-1)], [0, 4 * ROWS_MAX - 1]);
});
