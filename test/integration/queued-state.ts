// Makes the state of an agent with one queued URL, without a crawl.

import assert from 'node:assert/strict';
import path from 'node:path';
import { openState } from '../../agent/storage/file/database.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import type { Scratch } from './cli-process.ts';

export function makeQueuedState(
  { dataDir }: Pick<Scratch, 'dataDir'>,
  agent: string,
  url: string,
): void {
  const directory = path.join(dataDir, agent);
  const opened = openState({ directory, crawl: 'cli-test', agent });
  assert.ok(opened.ok);
  const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 1 });
  store.begin();
  store.enqueue(new URL(url).hostname, { url, depth: 1 }, null);
  store.commit(true);
  store.close();
  opened.unlock();
}
