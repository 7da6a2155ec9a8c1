// The state files of some agents on this machine, for tests of what is read from them.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import Database from 'better-sqlite3';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

export interface Crawl {
  readonly config: ResolvedConfig;
  readonly fileOf: (id: string) => string;
  /** What an agent stores later. */
  readonly change: (id: string, write: (store: SqliteStore) => void) => void;
}

/** @param write - what an agent has stored */
export function crawlOf(
  t: TestContext,
  ids: readonly string[],
  write: (store: SqliteStore, id: string) => void,
): Crawl {
  const dataDir = fs.mkdtempSync(join(tmpdir(), 'ubiring-states-'));
  t.after(() => fs.rmSync(dataDir, { recursive: true }));
  const change: Crawl['change'] = (id, act) => {
    const state = openState({ directory: join(dataDir, id), crawl: 'c', agent: id });
    assert.ok(state.ok);
    const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
    store.begin();
    act(store);
    store.commit(false);
    store.close();
    state.unlock();
  };
  for (const id of ids) {
    fs.mkdirSync(join(dataDir, id));
    change(id, (store) => write(store, id));
  }
  const agents = ids.map((id) => ({ id, listen: '', address: '', capacity: 1 }));
  const config = {
    ...{ file: 'crawl.yaml', unplaced: [], strangers: [], agent: { dataDir } },
    cluster: { agents, overlay: 'ring', replicas: 20, backups: 1, contacts: [] },
  } as unknown as ResolvedConfig;
  return { config, change, fileOf: (id) => join(dataDir, id, 'state.sqlite') };
}

/** Overwrites the first page of a table. The file can still be opened. */
export function damage(path: string, table: string): void {
  const db = new Database(path);
  const page = db.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').pluck().get(table);
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const file = fs.readFileSync(path);
  file.fill(0xff, (Number(page) - 1) * size, Number(page) * size);
  fs.writeFileSync(path, file);
}
