// Tests that the view hosts shows the delay in effect: a directive's, else the config's, or longer what
// the host demands.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { MIGRATIONS } from '../../../../agent/storage/schema/migrations.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { DirectiveTable } from '../../../../agent/storage/tables/directive-table.ts';

test('views: hosts has the delay of the config for the host, or its own demand', () => {
  const db = openInMemory();
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 1 });
  store.begin();
  for (const host of ['a.x.test', 'b.x.test', 'c.b.x.test', 'y.test', 'z.test']) {
    store.enqueue(host, { url: `http://${host}/`, depth: 0 }, null);
  }
  store.saveHost({ ...store.host('y.test'), delayMs: 9000 }, null);
  store.commit(false);
  const started = (patterns: Readonly<Record<string, number>>) => {
    const entries = Object.entries(patterns).map(([host, ms]) => [host, { hostDelayMs: ms }]);
    const delays = { hostDelayMs: 1500, hosts: Object.fromEntries(entries) };
    new SqliteStore(db, { durability: 'process', ...delays });
    return db.prepare('SELECT delay_ms FROM hosts ORDER BY host').pluck().all();
  };
  const patterns = { 'a.x.test': 100, '*.x.test': 20_000, '*.b.x.test': 3000 };
  assert.deepEqual(started(patterns), [100, 20_000, 3000, 9000, 1500]);
  assert.deepEqual(started({ ...patterns, '*': 4000 }), [100, 20_000, 3000, 9000, 4000]);
  assert.deepEqual(started({}), [1500, 1500, 1500, 9000, 1500]);
  new DirectiveTable(db).saveDirective({ kind: 'delay', host: '*', value: 50, n: 1, by: 'a1' }, 1);
  assert.deepEqual(started(patterns), [50, 50, 50, 9000, 50], 'a directive comes first');
});

test('views: an upgraded file keeps what its hosts demand, not the delay of a former directive', () => {
  const db = new Database(':memory:');
  const step = MIGRATIONS.findIndex((sql) => sql.includes('CREATE TABLE config_delays'));
  for (const sql of MIGRATIONS.slice(0, step)) db.exec(sql);
  db.exec(`INSERT INTO host_rows (number, host, owned, delay_ms) VALUES
      (1, 'a.test', 1, 80000), (2, 'b.test', 1, 80000), (3, 'copy.test', 0, 80000);
    INSERT INTO robots (host, origin, kind, fetched_at, attempts, retry_at, reason, number, crawl_delay_ms)
      VALUES (2, 'http://b.test', 'rules', 1, 0, 0, '', 1, 9000),
      (2, 'https://b.test', 'rules', 1, 0, 0, '', 2, 7000);`);
  db.exec(MIGRATIONS[step]!);
  const delays = db.prepare('SELECT delay_ms FROM host_rows ORDER BY number').pluck().all();
  assert.deepEqual(delays, [0, 9000, 80_000]);
});
