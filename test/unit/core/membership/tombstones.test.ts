// The tombstones of removed agents: their incarnations only grow, a new process reads them, and
// their number is bounded.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { GONE_MAX, Tombstones } from '../../../../agent/core/membership/tombstones.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { MIGRATIONS } from '../../../../agent/storage/schema/migrations.ts';
import { TombstoneTable } from '../../../../agent/storage/tables/tombstone-table.ts';

describe('tombstones', () => {
  const table = () => new TombstoneTable(openInMemory());
  const nobody = () => false;

  it('keep the highest incarnation, in any order of arrival', () => {
    const gone = new Tombstones(table(), nobody);
    for (const inc of [3, 7, 5]) gone.note('a', inc, inc);
    assert.equal(gone.highest('a'), 7);
    assert.deepEqual([...gone.entries()], [{ id: 'a', inc: 7, since: 7 }]);
  });

  it('are read by the next process, where their age starts anew', () => {
    const store = table();
    new Tombstones(store, nobody).note('a', 7, 100);
    const next = new Tombstones(store, nobody);
    next.recall(900);
    assert.deepEqual([...next.entries()], [{ id: 'a', inc: 7, since: 900 }]);
  });

  it('are bounded in memory and on disk, and those of members are kept', () => {
    const store = table();
    const gone = new Tombstones(store, (id) => id === 'a1');
    gone.note('a1', 7, 0);
    for (let k = 0; k < 2 * GONE_MAX; k++) gone.note(`g${k}`, 5, k);
    assert.equal(gone.highest('a1'), 7);
    assert.equal([...gone.entries()].length, GONE_MAX);
    assert.equal(store.all().length, GONE_MAX);
    const next = new Tombstones(store, (id) => id === 'a1');
    next.recall(900);
    assert.deepEqual([next.highest('a1'), [...next.entries()].length], [7, GONE_MAX]);
  });

  it('are migrated from the text of an older file to their own rows', () => {
    const db = new Database(':memory:');
    const step = MIGRATIONS.findIndex((sql) => sql.includes('CREATE TABLE gone_agents'));
    db.exec(
      'CREATE TABLE meta (key TEXT PRIMARY KEY, value); INSERT INTO meta VALUES (\'gone\', \'{"a1":7,"a 2":9}\')',
    );
    db.exec(MIGRATIONS[step]!);
    assert.deepEqual(new TombstoneTable(db).all(), [
      { id: 'a 2', inc: 9 },
      { id: 'a1', inc: 7 },
    ]);
    assert.equal(db.prepare('SELECT count(*) FROM meta').pluck().get(), 0);
    db.exec('DROP TABLE gone_agents');
    db.exec(MIGRATIONS[step]!);
    assert.deepEqual(new TombstoneTable(db).all(), [], 'from a file without tombstones');
  });
});
