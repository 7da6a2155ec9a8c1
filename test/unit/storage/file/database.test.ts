// Tests opening a state directory: what is refused, with which code and message, and that a refusal
// leaves the files unchanged. Locks between processes are real.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import type { Connection } from '../../../../agent/storage/encoding/connection.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { MIGRATIONS } from '../../../../agent/storage/schema/migrations.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { StateProcess } from '../state-processes.ts';

const mine = { crawl: 'c', agent: 'a' };

function scratch(t: TestContext): string {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-state-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes a state of some thousand URLs and closes it. */
function stateIn(directory: string): string {
  const opened = openState({ directory, ...mine });
  assert.ok(opened.ok);
  const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 1 });
  store.begin();
  for (let n = 0; n < 3000; n++) {
    store.enqueue(`h${n % 9}.test`, { url: `http://h${n % 9}.test/${n}`, depth: 1 }, null);
  }
  store.commit(false);
  store.close();
  opened.unlock();
  return join(directory, 'state.sqlite');
}

function hashOf(file: string): string {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}

function refused(directory: string, as = mine) {
  const opened = openState({ directory, ...as });
  assert.ok(!opened.ok, 'was opened');
  return opened;
}

/**
 * Asserts a refusal with this code that names the path and a remedy, and that the file is
 * unchanged.
 */
function refusedUntouched(directory: string, code: string, remedy: RegExp, as = mine): void {
  const file = join(directory, 'state.sqlite');
  const before = hashOf(file);
  const opened = refused(directory, as);
  assert.equal(opened.code, code, opened.message);
  assert.ok(opened.message.includes(directory), opened.message);
  assert.match(opened.message, remedy);
  assert.equal(hashOf(file), before, 'the file was changed');
  assert.equal(refused(directory, as).code, code, 'the lock was kept');
}

test('state: creates a missing directory, and finds its state again', (t) => {
  const directory = join(scratch(t), 'deep', 'a1');
  stateIn(directory);
  const opened = openState({ directory, ...mine });
  assert.ok(opened.ok);
  assert.equal(opened.db.prepare('SELECT count(*) FROM frontier').pluck().get(), 3000);
  assert.equal(opened.db.pragma('user_version', { simple: true }), MIGRATIONS.length);
  assert.equal(opened.db.pragma('journal_mode', { simple: true }), 'wal');
  opened.db.close();
  opened.unlock();
});

test('state: migrations of an empty file give a valid database', (t) => {
  const opened = openState({ directory: scratch(t), ...mine });
  assert.ok(opened.ok);
  assert.equal(opened.db.pragma('integrity_check', { simple: true }), 'ok');
  opened.db.close();
  opened.unlock();
});

test('state: refuses a second process while the first runs, and accepts one after its SIGKILL', async (t) => {
  const directory = scratch(t);
  const first = new StateProcess('hold', directory);
  t.after(() => first.kill());
  assert.equal((await first.told())?.ok, true);
  const opened = refused(directory);
  assert.equal(opened.code, 'locked');
  assert.ok(opened.message.includes(directory) && opened.message.includes('stop'));
  await first.kill();
  const after = openState({ directory, ...mine });
  assert.ok(after.ok);
  after.db.close();
  after.unlock();
});

test('state: refuses to open a directory twice in one process', (t) => {
  const directory = scratch(t);
  const opened = openState({ directory, ...mine });
  assert.ok(opened.ok);
  assert.equal(refused(directory).code, 'locked');
  opened.db.close();
  opened.unlock();
  assert.ok(openThenClose(directory));
});

function openThenClose(directory: string): boolean {
  const opened = openState({ directory, ...mine });
  if (!opened.ok) return false;
  opened.db.close();
  opened.unlock();
  return true;
}

test('state: a file in place of the directory or above it is reported as unwritable', (t) => {
  const file = join(scratch(t), 'file');
  fs.writeFileSync(file, 'x');
  for (const directory of [file, join(file, 'below')]) {
    const opened = refused(directory);
    assert.equal(opened.code, 'unwritable');
    assert.ok(opened.message.includes(directory) && opened.message.includes('--data'));
  }
  assert.equal(fs.readFileSync(file, 'utf8'), 'x');
});

test('state: a directory in place of the file is reported as unwritable', (t) => {
  const directory = scratch(t);
  fs.mkdirSync(join(directory, 'state.sqlite'));
  const opened = refused(directory);
  assert.equal(opened.code, 'unwritable');
  assert.ok(opened.message.includes(directory) && opened.message.includes('--data'));
});

test('state: refuses files without write permission at the start', async (t) => {
  const root = process.getuid?.() === 0;
  const directory = scratch(t);
  const file = stateIn(directory);
  fs.chmodSync(file, 0o444);
  fs.chmodSync(directory, 0o777);
  fs.chmodSync(join(directory, 'agent.lock'), 0o666);
  // Permissions do not apply to root, so another user tries.
  const nobody = root ? { uid: 65_534 } : {};
  const told = await tryOpen(directory, nobody);
  assert.equal(told?.code, 'unwritable', told?.message);
  assert.equal(
    told.message,
    root
      ? `permission missing: ${file} belongs to user 0; run the command as that user or as root`
      : `permission missing: ${file} belongs to this user; run chmod u+rwX ${file}`,
  );
  fs.chmodSync(directory, 0o555);
  const below = await tryOpen(join(directory, 'sub'), nobody);
  // An ordinary user can delete the files only if the directory is writable.
  fs.chmodSync(directory, 0o700);
  assert.equal(below?.code, 'unwritable', below?.message);
});

async function tryOpen(directory: string, as: { uid?: number }) {
  const child = new StateProcess('open', directory, as);
  const told = await child.told();
  await child.kill();
  return told;
}

const damages: [string, (file: string) => void][] = [
  ['a header of zeros', (file) => write(file, 0, Buffer.alloc(100))],
  ['text instead of a database', (file) => fs.writeFileSync(file, 'not a database\n'.repeat(500))],
  ['a few bytes', (file) => fs.truncateSync(file, 60)],
  ['half a page', (file) => fs.truncateSync(file, 2000)],
  ['half of its pages', (file) => fs.truncateSync(file, Math.floor(pagesOf(file) / 2) * 4096)],
  ['a page of noise in the middle', (file) => write(file, middleOf(file), noise(4096))],
  ['a page of zeros in the middle', (file) => write(file, middleOf(file), Buffer.alloc(4096))],
  ['noise in the root of the schema', (file) => write(file, 100, noise(60))],
  ["pages in each other's places", swapPages],
];

function write(file: string, position: number, bytes: Buffer): void {
  const fd = fs.openSync(file, 'r+');
  fs.writeSync(fd, bytes, 0, bytes.length, position);
  fs.closeSync(fd);
}

function pagesOf(file: string): number {
  return fs.statSync(file).size / 4096;
}

function middleOf(file: string): number {
  return Math.floor(pagesOf(file) / 2) * 4096;
}

function noise(bytes: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(bytes / 32) }, (_, n) =>
    createHash('sha256').update(`${n}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, bytes);
}

function swapPages(file: string): void {
  const bytes = fs.readFileSync(file);
  const middle = middleOf(file);
  const one = Buffer.from(bytes.subarray(middle, middle + 4096));
  bytes.copy(bytes, middle, middle - 8 * 4096, middle - 7 * 4096);
  one.copy(bytes, middle - 8 * 4096);
  fs.writeFileSync(file, bytes);
}

for (const [what, damage] of damages) {
  test(`state: ${what} is refused as corrupt, and left unchanged`, (t) => {
    const directory = scratch(t);
    damage(stateIn(directory));
    refusedUntouched(directory, 'corrupt', /restore.*move .* away/);
  });
}

test('state: reports a damaged lock file separately from a damaged state', (t) => {
  const directory = scratch(t);
  stateIn(directory);
  fs.writeFileSync(join(directory, 'agent.lock'), 'x'.repeat(5000));
  const opened = refused(directory);
  assert.equal(opened.code, 'corrupt');
  assert.match(opened.message, /agent\.lock is damaged; delete it/);
});

test('state: refuses a file of a newer schema, and leaves it unchanged', (t) => {
  const directory = scratch(t);
  const db = new Database(stateIn(directory));
  db.pragma(`user_version = ${MIGRATIONS.length + 1}`);
  db.close();
  refusedUntouched(directory, 'newer', /upgrade.*--data/);
});

test('state: refuses a file of another crawl or agent, and leaves it unchanged', (t) => {
  const directory = scratch(t);
  stateIn(directory);
  refusedUntouched(directory, 'other_crawl', /crawl 'c', not 'd'.*--data/, {
    crawl: 'd',
    agent: 'a',
  });
  refusedUntouched(directory, 'other_crawl', /agent 'a', not 'b'.*--data/, {
    crawl: 'c',
    agent: 'b',
  });
});

test('state: refuses a file of another network, which a crawl has begun that is not shared', (t) => {
  const directory = scratch(t);
  stateIn(directory);
  const openAs = (network?: string) => {
    const opened = openState({ directory, ...mine, ...(network && { network }) });
    if (!opened.ok) return opened.message;
    opened.db.close();
    opened.unlock();
    return null;
  };
  assert.equal(openAs('berlin'), null);
  const why = /belongs to network 'berlin', not 'paris'; restore 'dedup.network: berlin'.* --data/;
  assert.match(openAs('paris') ?? '', why);
});

test('state: refuses a file whose URLs were identified by other rules', (t) => {
  const directory = scratch(t);
  stateIn(directory);
  const openAs = (urls?: object) => {
    const rules = urls && { urls: JSON.stringify(urls) };
    const opened = openState({ directory, ...mine, ...rules });
    if (!opened.ok) return opened.message;
    opened.db.close();
    opened.unlock();
    return null;
  };
  const rules = { dropTracking: false, dropParameters: ['ref'] };
  // A file of an earlier version does not say which it had.
  assert.equal(openAs(rules), null);
  assert.equal(openAs(rules), null);
  const why =
    /'urls\.dropTracking' false, not true; restore it in the config, .* --data; .* --fresh$/;
  assert.match(openAs({ ...rules, dropTracking: true }) ?? '', why);
  const list = /'urls\.dropParameters' \["ref"\], not \["ref","x"\]; restore/;
  assert.match(openAs({ ...rules, dropParameters: ['ref', 'x'] }) ?? '', list);
  assert.equal(openAs(), null, 'a tool that has no rules');
});

test('state: takes over an empty file of another crawl whose agent never joined', (t) => {
  const directory = scratch(t);
  const opening = (crawl: string, agent = 'a') => openState({ directory, crawl, agent });
  const crawlOf = (db: Connection) =>
    db.prepare("SELECT value FROM meta WHERE key = 'crawl'").pluck().get();
  const note = (db: Connection, kind: string) =>
    db.prepare("INSERT INTO event_rows (at, kind, detail) VALUES (1, ?, '{}')").run(kind);
  const use = (crawl: string, act: (db: Connection) => void) => {
    const opened = opening(crawl);
    assert.ok(opened.ok, 'was refused');
    act(opened.db);
    opened.db.close();
    opened.unlock();
  };
  use('typo', (db) => note(db, 'refused'));
  assert.ok(!opening('c', 'b').ok, 'the file of another agent was accepted');
  use('c', (db) => assert.equal(crawlOf(db), 'c'));
  use('c', (db) => note(db, 'join'));
  assert.ok(!opening('typo').ok);
});

test('state: refuses a database of another program, and leaves it unchanged', (t) => {
  const directory = scratch(t);
  const db = new Database(join(directory, 'state.sqlite'));
  db.exec('CREATE TABLE diary (day TEXT)');
  db.close();
  refusedUntouched(directory, 'other_crawl', /another program.*--data/);
});
