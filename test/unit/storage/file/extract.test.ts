// Extracts of state files, as queries on other machines read them.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import {
  hasGivenHosts,
  heldIn,
  openStateFile,
  readerOf,
  type StateFile,
} from '../../../../agent/cli/common/query-files.ts';
import { ClusterViews, viewColumns } from '../../../../agent/cli/state-files/query-views.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { openExtract, writeExtract } from '../../../../agent/storage/file/extract.ts';
import { openForReading } from '../../../../agent/storage/file/reading.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const VIEWS = Object.keys(viewColumns);

/** A state with a fetched, a queued and a skipped URL of a shared host, and one of its own. */
function write(directory: string, agent: string, fetchedAt: number): string {
  const opened = openState({ directory: join(directory, agent), crawl: 'c', agent });
  assert.ok(opened.ok);
  const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 100 });
  store.begin();
  for (const at of ['/', '/queued', `/${agent}`]) {
    store.enqueue('both.test', { url: `http://both.test${at}`, depth: 1 }, null);
  }
  store.enqueue('both.test', { url: 'http://both.test/no', depth: 1 }, 'robots');
  store.enqueue(`${agent}.test`, { url: `http://${agent}.test/`, depth: 1 }, null);
  const { number } = store.host('both.test');
  store.recordPage(number, {
    ...{ url: 'http://both.test/', status: 200, error: null, contentType: 'text/html', bytes: 10 },
    ...{ digest: null, fetchedAt, durationMs: 1, redirectTo: null, attempts: 1 },
  });
  store.commit(false);
  store.close();
  opened.unlock();
  return join(directory, agent, 'state.sqlite');
}

function extracted(path: string, views: readonly string[], to: string): string {
  const opened = openForReading(path);
  assert.ok(opened.ok);
  writeExtract(opened.db, views, to);
  opened.db.close();
  return to;
}

function openExtractOf(agent: string, path: string, views = VIEWS): StateFile {
  const opened = openExtract(path, views);
  assert.ok(opened.ok, JSON.stringify(opened));
  return readerOf(agent, path, opened);
}

function openAll(paths: Readonly<Record<string, string>>): StateFile[] {
  return Object.entries(paths).map(([agent, path]) => {
    if (basename(path) === 'copy') return openExtractOf(agent, path);
    const file = openStateFile(agent, path);
    assert.ok(typeof file !== 'string', String(file));
    return file;
  });
}

/** The rows of every view over these files. */
function rowsOf(paths: Readonly<Record<string, string>>) {
  const views = new ClusterViews(openAll(paths), assert.fail, () => 'a2');
  const db = views.open();
  try {
    return VIEWS.map((view) => db.prepare(`SELECT * FROM ${view} ORDER BY 1, 2, 3`).raw().all());
  } finally {
    db.close();
    views.close();
  }
}

test('views over extracts have the same rows as views over the state files', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-extract-test-'));
  try {
    const [a1, a2] = [write(directory, 'a1', 1000), write(directory, 'a2', 2000)];
    const copy = extracted(a2, VIEWS, join(directory, 'copy'));
    const whole = rowsOf({ a1, a2 });
    const counts = whole.slice(0, 4).map((rows) => rows.length);
    assert.deepEqual(counts, [1, 5, 1, 3], JSON.stringify(whole));
    assert.deepEqual(rowsOf({ a1, a2: copy }), whole);

    const held = heldIn(a2)!;
    const [file] = openAll({ a2: copy });
    assert.equal(hasGivenHosts(file!, held), false);
    assert.equal(hasGivenHosts(file!, { ...held, hosts: 1 } as typeof held), true);
    assert.equal(file!.otherCrawl('other'), 'c');
    file!.close();

    const path = extracted(a2, ['hosts'], join(directory, 'part'));
    const part = openExtractOf('a2', path, ['hosts']);
    assert.equal([...part.rows('SELECT host FROM hosts')].length, 2);
    part.close();
    const lacking = openExtract(path, ['hosts', 'pages']);
    assert.match(String(!lacking.ok && lacking.why), /not an extract .*no such table: pages/);

    const db = new Database(path);
    for (const [object, rest] of [
      ['VIEW', 'AS WITH RECURSIVE c AS (SELECT 1 UNION ALL SELECT * FROM c) SELECT * FROM c'],
      ['TABLE', 'USING fts5 (x)'],
    ] as const) {
      db.exec(`CREATE ${object === 'TABLE' ? 'VIRTUAL ' : ''}${object} v ${rest}`);
      const endless = openExtract(path, ['hosts']);
      assert.match(
        String(!endless.ok && endless.why),
        /not an extract .*a view or a virtual table/,
      );
      db.exec(`DROP ${object} v`);
    }
    db.pragma('user_version = 1');
    db.close();
    const old = openExtract(path, ['hosts']);
    assert.match(
      String(!old.ok && old.why),
      /has schema 1, and this ubiring has \d+: use one version/,
    );
    writeFileSync(path, 'no database');
    const none = openExtract(path, ['hosts']);
    assert.match(String(!none.ok && none.why), /not an extract .*not a database/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
