// Tests that a process killed while it writes leaves whole turns, including every turn that it
// reported, and a consistent database.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openState } from '../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../agent/storage/sqlite-store.ts';
import { StateProcess } from './state-processes.ts';

for (const durability of ['power', 'process'] as const) {
  test(`crash: SIGKILL leaves a consistent prefix of the turns (${durability})`, async (t) => {
    const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-crash-'));
    t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
    let turns = 0;
    for (const atLeast of [1, 40, 7]) {
      fs.rmSync(directory, { recursive: true, force: true });
      const child = new StateProcess('write', directory, { durability });
      t.after(() => child.kill());
      assert.equal((await child.told())?.ok, true);
      let last = -1;
      while (last < atLeast)
        last = (await child.told())?.committed ?? assert.fail('the process ended');
      for (const { committed } of await child.kill()) last = committed ?? last;
      turns = check(directory, last);
    }
    assert.ok(turns > 0);
  });
}

/**
 * Asserts that every turn up to `last` is complete, that at most one more exists, and that no turn
 * is partial.
 */
function check(directory: string, last: number): number {
  const opened = openState({ directory, crawl: 'c', agent: 'a' });
  assert.ok(opened.ok, opened.ok ? '' : opened.message);
  const { db } = opened;
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  const one = (sql: string) => db.prepare<[], number>(sql).pluck().get()!;
  const turns = one('SELECT count(*) FROM outbox');
  assert.ok(turns === last + 1 || turns === last + 2, `${turns} turns, ${last} told last`);
  assert.equal(one('SELECT count(*) FROM pages'), turns);
  assert.equal(one('SELECT count(*) FROM frontier'), turns * 8);
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 1000 });
  assert.equal(store.owned().queued, turns * 8);
  assert.equal(store.owned().pages, turns);
  assert.equal(store.outboxCount(), turns);
  // The counter is not behind any number, so no number is assigned twice.
  assert.ok(store.counter() >= one('SELECT max(max(found), max(done)) FROM urls'));
  store.close();
  opened.unlock();
  return turns;
}
