// The set-up shared by `database-damage.test.ts` and `slow/database-damage.test.ts`.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import Database from 'better-sqlite3';
import type { Connection } from '../../../../agent/storage/encoding/connection.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

export const mine = { crawl: 'c', agent: 'a' };
export const at = Date.UTC(2026, 0, 2, 3, 4, 5);
/** Enough turns that the log is checkpointed now and then, and is never short. */
export const turns = 120;

/** The files of an agent that was killed, now and at some earlier times. */
export interface Crawl {
  readonly directory: string;
  /** Copies of `state.sqlite` and its log, in order of time. */
  readonly moments: readonly string[];
}

/** Crawls that exist already, by `logPages`; only copies of them are damaged. */
export const crawls = new Map<number, Crawl>();
after(() => {
  for (const { directory } of crawls.values()) fs.rmSync(directory, { recursive: true });
});

/** `logPages`: the log is checkpointed when it has this many pages; 0: never. */
export function crawlOf({ logPages = 60 } = {}): Crawl {
  const crawl = crawls.get(logPages) ?? makeCrawl(logPages);
  crawls.set(logPages, crawl);
  return crawl;
}

export function makeCrawl(logPages: number): Crawl {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-damage-'));
  const opened = openState({ directory: join(directory, 'live'), ...mine });
  assert.ok(opened.ok);
  const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 1 });
  opened.db.pragma(`wal_autocheckpoint = ${logPages}`);
  const moments: string[] = [];
  for (let turn = 0; turn < turns; turn++) {
    writeTurn(store, turn);
    if (turn % 20 !== 19) continue;
    const moment = join(directory, `moment-${turn}`);
    fs.mkdirSync(moment);
    copyState(join(directory, 'live'), moment);
    moments.push(moment);
  }
  store.close();
  opened.unlock();
  return { directory, moments };
}

/** Turn k adds ten URLs, finishes one of them, and adds one URL for another agent. */
export function writeTurn(store: SqliteStore, k: number): void {
  const host = `h${k % 5}.test`;
  store.begin();
  for (let n = 0; n < 10; n++) {
    store.enqueue(host, { url: `http://${host}/${k}/${n}`, depth: n }, null);
  }
  store.recordPage(store.host(host).number, {
    ...{ url: `http://${host}/${k}/3`, status: 200, error: null, contentType: null, bytes: 1 },
    ...{ digest: null, fetchedAt: k, durationMs: 1, redirectTo: null, attempts: 1 },
  });
  store.settle(host, `http://${host}/${k}/3`);
  store.addToOutbox('x.test', 'x', { url: `http://x.test/${k}`, depth: 0 });
  store.commit(false);
}

export function copyState(from: string, to: string): void {
  for (const suffix of ['', '-wal']) {
    const file = join(from, `state.sqlite${suffix}`);
    if (fs.existsSync(file)) fs.copyFileSync(file, join(to, `state.sqlite${suffix}`));
  }
}

/** Copies the files of a moment into a new directory. */
export function copyOf(crawl: Crawl, moment: string): string {
  const directory = fs.mkdtempSync(join(crawl.directory, 'case-'));
  copyState(moment, directory);
  return directory;
}

/**
 * Asserts that the state contains whole turns from the first on, and no partial turn; returns their
 * number.
 */
export function assertPrefix(db: Connection): number {
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  const one = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  const count = one('SELECT count(*) FROM outbox');
  assert.equal(one("SELECT count(*) FROM outbox WHERE url = 'http://x.test/' || (id - 1)"), count);
  assert.equal(one('SELECT count(*) FROM pages'), count);
  assert.equal(one('SELECT count(*) FROM frontier'), count * 9);
  assert.equal(one('SELECT coalesce(sum(queued), 0) FROM host_rows'), count * 9);
  const last = one('SELECT coalesce(max(max(found, done)), 0) FROM urls');
  assert.equal(one("SELECT coalesce(max(value), 0) FROM meta WHERE key = 'n'"), last);
  return count;
}

/**
 * Opens the state as an agent with copies elsewhere does; returns the number of turns, or null if
 * the state was set aside.
 */
export function turnsIn(directory: string): number | null {
  const opened = openState({ directory, ...mine, quarantineAt: at });
  assert.ok(opened.ok, opened.ok ? '' : opened.message);
  const count = assertPrefix(opened.db);
  const aside = fs.existsSync(join(directory, 'quarantine'));
  assert.equal(opened.notice !== null, aside, 'set aside without a notice, or reported but kept');
  opened.db.close();
  opened.unlock();
  if (aside) assert.equal(count, 0);
  return aside ? null : count;
}

export function flip(file: string, position: number, bit: number): void {
  const bytes = fs.readFileSync(file);
  bytes[position]! ^= 1 << bit;
  fs.writeFileSync(file, bytes);
}

/** The known URLs, their row ids and the order of the queue, as one text. */
export function urlsIn(directory: string): string {
  const db = new Database(join(directory, 'state.sqlite'), { readonly: true });
  const rows = db.prepare('SELECT id, key, state, not_before * (state = 0) FROM urls').raw().all();
  db.close();
  return JSON.stringify(rows);
}
