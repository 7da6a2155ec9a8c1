// Tests the start with a damaged state file: which states are set aside unchanged, which are
// refused, and what remains after a log was truncated, flipped or replaced. The damage is done to
// copies of the files of one crawl, in many places each.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { openState } from '../../../../agent/storage/file/database.ts';
import {
  assertPrefix,
  at,
  copyOf,
  crawlOf,
  flip,
  mine,
  turnsIn,
  urlsIn,
} from './database-damage-stage.ts';

function scratch(t: TestContext): string {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-damage-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/**
 * Flips a bit in a live row. After a page split, the unused space of the page still contains the
 * text of moved rows, so the first occurrence may not be live.
 */
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

const F38: readonly [string, (file: string) => void][] = [
  ['truncated to nothing, without its log', (file) => cutBoth(file)],
  ['truncated to nothing, with its whole log', (file) => fs.truncateSync(file, 0)],
  ['deleted, with its whole log', (file) => fs.rmSync(file)],
  ['truncated to half', (file) => fs.truncateSync(file, fs.statSync(file).size >> 1)],
  ['replaced by garbage', (file) => fs.writeFileSync(file, 'garbage '.repeat(4096))],
  ['without one of its tables', (file) => renameInSchema(file)],
];

function cutBoth(file: string): void {
  fs.truncateSync(file, 0);
  fs.rmSync(`${file}-wal`);
}

/**
 * The effect of a flip in the root page: the file is valid for SQLite, but lacks a required table.
 */
function renameInSchema(file: string): void {
  const db = new Database(file);
  db.exec('ALTER TABLE robots RENAME TO rcbots');
  db.close();
}

function filesOf(directory: string): [string, Buffer][] {
  const names = fs.readdirSync(directory).filter((name) => /^state\.sqlite(-wal)?$/.test(name));
  return names.map((name) => [name, fs.readFileSync(join(directory, name))]);
}

/** Starts again after a previous start has replaced the state. */
function turnsAfter(directory: string): number {
  const opened = openState({ directory, ...mine, quarantineAt: at });
  assert.ok(opened.ok && opened.notice === null);
  const count = assertPrefix(opened.db);
  opened.db.close();
  opened.unlock();
  return count;
}

test('database damage: detects a bit flipped in the text of a URL, which SQLite does not', (t) => {
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

for (const [what, damage] of F38) {
  test(`database damage: sets aside a state ${what}, does not delete it, and reports it`, () => {
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

  test(`database damage: refuses a state ${what} and leaves it unchanged if there are no copies`, () => {
    const crawl = crawlOf();
    const directory = copyOf(crawl, crawl.moments.at(-1)!);
    damage(join(directory, 'state.sqlite'));
    const before = filesOf(directory);
    const opened = openState({ directory, ...mine });
    assert.ok(!opened.ok, 'the agent started with an empty state');
    assert.equal(opened.code, 'corrupt');
    assert.match(opened.message, /state\.sqlite.*restore it.*starts from the seeds/);
    for (const [name, bytes] of before) {
      assert.ok(fs.readFileSync(join(directory, name)).equals(bytes), `${name} was changed`);
    }
  });
}

test('database damage: starts empty and reports it if the state is missing in a used directory', (t) => {
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
