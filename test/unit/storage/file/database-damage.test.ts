// A state that was damaged while nobody looked: what is set aside at a start, byte for byte, what
// is refused, and what a log that was cut, flipped or swapped leaves of it. Damage is done to
// copies of the files of one crawl, in many places each.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import type { Connection } from '../../../../agent/storage/encoding/connection.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const mine = { crawl: 'c', agent: 'a' };
const at = Date.UTC(2026, 0, 2, 3, 4, 5);
/** Enough that the log is moved into the file now and then, and is never short. */
const turns = 120;

/** The files of an agent that was cut off, now and at some earlier moments. */
interface Crawl {
  readonly directory: string;
  /** Copies of `state.sqlite` and its log, in order of time. */
  readonly moments: readonly string[];
}

function scratch(t: TestContext): string {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-damage-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** What was made already, by `logPages`; only copies of it are damaged. */
const crawls = new Map<number, Crawl>();
after(() => {
  for (const { directory } of crawls.values()) fs.rmSync(directory, { recursive: true });
});

/** `logPages`: the log goes into the file when it has so many; 0: never. */
function crawlOf({ logPages = 60 } = {}): Crawl {
  const crawl = crawls.get(logPages) ?? makeCrawl(logPages);
  crawls.set(logPages, crawl);
  return crawl;
}

function makeCrawl(logPages: number): Crawl {
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

/** Turn k adds ten URLs, of which it finishes one and takes one for another agent. */
function writeTurn(store: SqliteStore, k: number): void {
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

function copyState(from: string, to: string): void {
  for (const suffix of ['', '-wal']) {
    const file = join(from, `state.sqlite${suffix}`);
    if (fs.existsSync(file)) fs.copyFileSync(file, join(to, `state.sqlite${suffix}`));
  }
}

/** A directory of its own with a copy of the files of a moment. */
function copyOf(crawl: Crawl, moment: string): string {
  const directory = fs.mkdtempSync(join(crawl.directory, 'case-'));
  copyState(moment, directory);
  return directory;
}

/** Whole turns from the first on, and nothing in part; gives how many. */
function assertPrefix(db: Connection): number {
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

/** Opens it as an agent with copies elsewhere would; the number of turns, or null: set aside. */
function turnsIn(directory: string): number | null {
  const opened = openState({ directory, ...mine, quarantineAt: at });
  assert.ok(opened.ok, opened.ok ? '' : opened.message);
  const count = assertPrefix(opened.db);
  const aside = fs.existsSync(join(directory, 'quarantine'));
  assert.equal(opened.notice !== null, aside, 'set aside in silence, or said so and kept');
  opened.db.close();
  opened.unlock();
  if (aside) assert.equal(count, 0);
  return aside ? null : count;
}

/** A frame of the log: its header and a page; they follow the log's own header. */
const frameBytes = 24 + 4096;
const headerBytes = 32;

/** Lengths at the borders of frames and beside them, all over the log. */
function cutsOf(length: number): number[] {
  const frames = Math.floor((length - headerBytes) / frameBytes);
  assert.ok(frames > 24, `only ${frames} frames`);
  const cuts = [0, 1, headerBytes - 1, headerBytes, length];
  for (let k = 0; k < 6; k++) {
    const border = headerBytes + Math.floor((k * frames) / 6) * frameBytes;
    for (const off of [-1, 0, 1, 24, 1000]) cuts.push(border + off);
  }
  return cuts.filter((cut) => cut >= 0).sort((a, b) => a - b);
}

/** What opens after the log of the last moment was damaged: turns, or null where set aside. */
function afterDamage(crawl: Crawl, damage: (log: string) => void): number | null {
  const directory = copyOf(crawl, crawl.moments.at(-1)!);
  damage(join(directory, 'state.sqlite-wal'));
  const count = turnsIn(directory);
  fs.rmSync(directory, { recursive: true });
  return count;
}

function logBytes({ moments }: Crawl): number {
  return fs.statSync(join(moments.at(-1)!, 'state.sqlite-wal')).size;
}

test('F35: a log that lost its tail, at any length, leaves the turns before', () => {
  const crawl = crawlOf({ logPages: 0 });
  const counts = cutsOf(logBytes(crawl)).map((cut) =>
    afterDamage(crawl, (log) => fs.truncateSync(log, cut)),
  );
  assert.ok(!counts.includes(null), 'a lost tail is no damage');
  const sorted = counts.toSorted((a, b) => a! - b!);
  assert.deepEqual(counts, sorted, 'a longer log gave less');
  assert.ok(sorted.at(-1)! > turns / 2 && sorted[0] === 0, String(sorted));
});

test('F35: a log cut below what is in the file already is whole turns, or set aside', () => {
  const crawl = crawlOf();
  const outcomes = cutsOf(logBytes(crawl)).map((cut) =>
    afterDamage(crawl, (log) => fs.truncateSync(log, cut)),
  );
  assert.ok(outcomes.some((count) => count !== null && count > 0));
});

test('F36: a bit flipped in the log leaves the turns before', () => {
  const crawl = crawlOf({ logPages: 0 });
  const whole = afterDamage(crawl, () => {});
  const length = logBytes(crawl);
  let lost = 0;
  for (let k = 0; k < 24; k++) {
    const position = Math.floor((length * (k + 0.5)) / 24);
    const count = afterDamage(crawl, (log) => flip(log, position, k % 8));
    assert.ok(count !== null && whole !== null && count <= whole);
    if (count < whole) lost++;
  }
  assert.equal(lost, 24, 'every flip costs the turns after it');
});

function flip(file: string, position: number, bit: number): void {
  const bytes = fs.readFileSync(file);
  bytes[position]! ^= 1 << bit;
  fs.writeFileSync(file, bytes);
}

test('F37: of bits flipped in the file none goes on as another state than the one it was', () => {
  const { flipped, size } = soundFile();
  const runs = 160;
  let aside = 0;
  for (let k = 0; k < runs; k++) {
    if (flipped(Math.floor((size * (k + 0.37)) / runs), k % 8) === 'aside') aside++;
  }
  assert.ok(aside > 0);
});

test('F37: nor does one of bits flipped in the header of the file', () => {
  const { flipped } = soundFile();
  for (let byte = 0; byte < 100; byte++) flipped(byte, byte % 8);
  // What may write it, the format of its schema, and the schema's version: by these it is judged.
  for (const byte of [18, 19, 44, 47, 60, 63]) {
    for (let bit = 0; bit < 8; bit++) flipped(byte, bit);
  }
});

/** A whole state without a log, of which copies are opened with a bit flipped. */
function soundFile(): {
  readonly size: number;
  flipped(position: number, bit: number): 'kept' | 'aside' | 'refused';
} {
  const crawl = crawlOf();
  const sound = copyOf(crawl, crawl.moments.at(-1)!);
  const count = turnsIn(sound)!;
  const was = urlsIn(sound);
  return {
    size: fs.statSync(join(sound, 'state.sqlite')).size,
    flipped(position, bit) {
      const directory = copyOf(crawl, sound);
      flip(join(directory, 'state.sqlite'), position, bit);
      const opened = openState({ directory, ...mine, quarantineAt: at });
      // A flip of the version's number makes it a file of another version, which is refused.
      const codes = ['newer', 'other_crawl'];
      if (!opened.ok) assert.ok(codes.includes(opened.code), opened.message);
      else {
        if (opened.notice === null) assert.equal(assertPrefix(opened.db), count);
        opened.db.close();
        opened.unlock();
        if (opened.notice === null) {
          assert.equal(urlsIn(directory), was, `bit ${bit} of byte ${position}`);
        }
      }
      fs.rmSync(directory, { recursive: true });
      if (!opened.ok) return 'refused';
      return opened.notice === null ? 'kept' : 'aside';
    },
  };
}

/** Which URLs are known, where they stand, and how the queue is ordered: as one text. */
function urlsIn(directory: string): string {
  const db = new Database(join(directory, 'state.sqlite'), { readonly: true });
  const rows = db.prepare('SELECT id, key, state, not_before * (state = 0) FROM urls').raw().all();
  db.close();
  return JSON.stringify(rows);
}

/** Where a page was split, its unused space still has the text of rows that went to another. */
function flipInRow(file: string, key: string): void {
  const bytes = fs.readFileSync(file);
  const before = urlsIn(dirname(file));
  for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + 1)) {
    flip(file, at + 2, 1);
    if (urlsIn(dirname(file)) !== before) return;
    flip(file, at + 2, 1);
  }
  assert.fail(`no row has ${key}`);
}

test('F37: a bit flipped in the text of a URL is seen, which SQLite does not', (t) => {
  const crawl = crawlOf();
  const sound = copyOf(crawl, crawl.moments.at(-1)!);
  assert.ok(turnsIn(sound));
  const file = join(sound, 'state.sqlite');
  flipInRow(file, 'h/77/7');
  const db = new Database(file, { readonly: true });
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  db.close();
  const opened = openState({ directory: sound, ...mine, quarantineAt: at });
  assert.ok(opened.ok);
  t.after(() => {
    opened.db.close();
    opened.unlock();
  });
  assert.match(opened.notice ?? '', /is inconsistent \(URL \d+ has the wrong row id\)/);
});

const F38: readonly [string, (file: string) => void][] = [
  ['truncated to nothing, its log with it', (file) => cutBoth(file)],
  ['truncated to nothing, its log whole', (file) => fs.truncateSync(file, 0)],
  ['gone, its log whole', (file) => fs.rmSync(file)],
  ['truncated to half', (file) => fs.truncateSync(file, fs.statSync(file).size >> 1)],
  ['replaced by garbage', (file) => fs.writeFileSync(file, 'garbage '.repeat(4096))],
  ['robbed of a table', (file) => renameInSchema(file)],
];

function cutBoth(file: string): void {
  fs.truncateSync(file, 0);
  fs.rmSync(`${file}-wal`);
}

/** As a flip in the root page would: sound for SQLite, and without a table that is needed. */
function renameInSchema(file: string): void {
  const db = new Database(file);
  db.exec('ALTER TABLE robots RENAME TO rcbots');
  db.close();
}

for (const [what, damage] of F38) {
  test(`F38: a state ${what} is set aside, never deleted, and said so`, () => {
    const crawl = crawlOf();
    const directory = copyOf(crawl, crawl.moments.at(-1)!);
    damage(join(directory, 'state.sqlite'));
    const found = filesOf(directory);
    assert.equal(turnsIn(directory), null);
    const aside = join(directory, 'quarantine', '2026-01-02T03-04-05.000Z');
    for (const [name, bytes] of found) {
      assert.ok(fs.readFileSync(join(aside, name)).equals(bytes), `${name} was changed`);
    }
    const db = new Database(join(directory, 'state.sqlite'));
    const event = db.prepare('SELECT at, kind, detail FROM events').get() as {
      at: number;
      kind: string;
      detail: string;
    };
    db.close();
    assert.deepEqual([event.at, event.kind], [at, 'quarantine']);
    assert.ok(event.detail.includes('quarantine/2026-01-02'), event.detail);
    assert.equal(turnsAfter(directory), 0, 'the next start finds a sound file');
  });

  test(`F38: a state ${what} is refused where nobody has copies, and left as it is`, () => {
    const crawl = crawlOf();
    const directory = copyOf(crawl, crawl.moments.at(-1)!);
    damage(join(directory, 'state.sqlite'));
    const before = filesOf(directory);
    const opened = openState({ directory, ...mine });
    assert.ok(!opened.ok, 'it began empty');
    assert.equal(opened.code, 'corrupt');
    assert.match(opened.message, /state\.sqlite.*restore it.*starts from the seeds/);
    for (const [name, bytes] of before) {
      assert.ok(fs.readFileSync(join(directory, name)).equals(bytes), `${name} was changed`);
    }
  });
}

function filesOf(directory: string): [string, Buffer][] {
  const names = fs.readdirSync(directory).filter((name) => /^state\.sqlite(-wal)?$/.test(name));
  return names.map((name) => [name, fs.readFileSync(join(directory, name))]);
}

/** A start on what a former start has set right. */
function turnsAfter(directory: string): number {
  const opened = openState({ directory, ...mine, quarantineAt: at });
  assert.ok(opened.ok && opened.notice === null);
  const count = assertPrefix(opened.db);
  opened.db.close();
  opened.unlock();
  return count;
}

test("F39: a file of one moment with another's log is whole turns, or set aside", () => {
  const crawl = crawlOf();
  let aside = 0;
  for (const file of crawl.moments) {
    for (const log of crawl.moments) {
      const directory = copyOf(crawl, file);
      fs.copyFileSync(join(log, 'state.sqlite-wal'), join(directory, 'state.sqlite-wal'));
      // What opens is a state that once was: `turnsIn` demands it.
      if (turnsIn(directory) === null) aside++;
      fs.rmSync(directory, { recursive: true });
    }
  }
  assert.ok(aside > 0, 'not exercised: every mixture was a state');
});

test('a state that is gone from a directory in use begins empty, and says so', (t) => {
  const directory = scratch(t);
  for (const notice of [
    null,
    /state\.sqlite is missing, though an agent ran in this directory before/,
  ]) {
    const opened = openState({ directory, ...mine });
    assert.ok(opened.ok);
    if (notice === null) assert.equal(opened.notice, null);
    else assert.match(opened.notice ?? '', notice);
    opened.db.close();
    opened.unlock();
    fs.rmSync(join(directory, 'state.sqlite'));
  }
});
