// An archive whose process is killed repeatedly at any moment, and whose newest file is also torn.
// Every done page in the state has its record, and the files are intact up to their last record.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { CompressionFormat } from '../../agent/archive/record/compression.ts';
import { recoverArchive } from '../../agent/archive/recovery.ts';
import { openState } from '../../agent/storage/file/database.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { assertDigests, indexOf, readWarc } from '../unit/archive/reading.ts';

const program = path.join(import.meta.dirname, 'archive-process.ts');
const kills = 20;
/** The size of a few dozen pages, so that files end and begin under the kills. */
const fileBytes = 60_000;

const suffixes = { gzip: '.warc.gz', zstd: '.warc.zst' } as const;
const isArchive = (name: string) => /\.warc\.(gz|zst)$/.test(name);

interface Row {
  readonly url: string;
  readonly file: string;
  readonly offset: number;
}

interface Life {
  readonly seed: number;
  /** How long the process may write. */
  readonly ms: number;
  readonly format?: CompressionFormat;
}

/** Runs the process until it is killed. Returns the number of pages that it requeued. */
async function live(directory: string, { seed, ms, format = 'gzip' }: Life): Promise<number> {
  const words = [program, directory, String(fileBytes), String(seed), format];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  await pause(ms);
  child.kill('SIGKILL');
  const [code, signal] = (await ended) as [number | null, string | null];
  assert.deepEqual([code, signal], [null, 'SIGKILL'], 'it ran until it was killed');
  return (JSON.parse(line) as { reopened: number }).reopened;
}

function rowsIn(directory: string): Row[] {
  const db = new Database(path.join(directory, 'state.sqlite'), { readonly: true });
  try {
    return db
      .prepare<[], Row>('SELECT url, warc_file AS file, warc_offset AS offset FROM pages')
      .all();
  } finally {
    db.close();
  }
}

/** Recovers the archive, as the next start would. */
function recover(directory: string) {
  const opened = openState({ directory, crawl: 'kill', agent: 'a1' });
  assert.ok(opened.ok);
  const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 0 });
  const recovered = recoverArchive(path.join(directory, 'warc'), 'a1', store.archiveEnd());
  if (recovered.lost) {
    store.begin();
    store.reopenPages(recovered.lost.file, recovered.lost.from);
    store.commit(false);
  }
  store.close();
  opened.unlock();
  return recovered;
}

/**
 * Asserts that every done page has its record, every record is intact, and every index line leads
 * to one.
 */
async function assertWhole(directory: string): Promise<number> {
  const found = new Map<string, string>();
  const warc = path.join(directory, 'warc');
  for (const name of fs.readdirSync(warc).filter(isArchive)) {
    const responses = await responsesIn(path.join(warc, name));
    for (const { offset, url } of responses) found.set(`${name} ${offset}`, url);
    const index = fs.readFileSync(path.join(warc, indexOf(name)), 'utf8');
    const offsets = [...index.matchAll(/"offset":"(\d+)"/g)].map(([, text]) => Number(text));
    assert.deepEqual(
      offsets.toSorted((a, b) => a - b),
      responses.map(({ offset }) => offset),
      `index of ${name}`,
    );
    assert.ok(index.endsWith('\n'));
    // No agent is running, so every file is complete.
    const lines = index.trimEnd().split('\n');
    assert.deepEqual(lines, lines.toSorted(), `${name}: its index is sorted`);
  }
  const rows = rowsIn(directory);
  for (const { url, file, offset } of rows) {
    assert.equal(found.get(`${file} ${offset}`), url, `record of ${url}`);
  }
  return rows.length;
}

interface Response {
  readonly offset: number;
  readonly url: string;
}

/** By path, size and time, so that finished files are not read again after each kill. */
const read = new Map<string, Response[]>();

async function responsesIn(file: string): Promise<Response[]> {
  const { size, mtimeMs } = fs.statSync(file);
  const key = `${file} ${size} ${mtimeMs}`;
  const known = read.get(key);
  if (known) return known;
  const records = await readWarc(file);
  assert.equal(records.length, assertDigests(file), file);
  const responses = records
    .filter(({ type }) => type === 'response' || type === 'revisit')
    .map(({ offset, headers }) => ({ offset, url: headers['warc-target-uri']! }));
  read.set(key, responses);
  return responses;
}

/** A changed format between two runs starts another file, and the last file is cut nevertheless. */
const packings: readonly (readonly CompressionFormat[])[] = [['gzip'], ['zstd'], ['gzip', 'zstd']];

for (const formats of packings) {
  const packing = formats.join(' and ');
  test(`archive: ${packing}: every done page has its record after ${kills} kills`, async (t) => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-archive-'));
    t.after(() => fs.rmSync(directory, { recursive: true }));
    const warc = path.join(directory, 'warc');
    let pages = 0;
    for (let k = 0; k < kills; k++) {
      const format = formats[k % formats.length]!;
      const reopened = await live(directory, { seed: k, ms: (k * 37) % 60, format });
      assert.equal(reopened, 0, 'a kill loses no record that a row names');
      assert.ok(newestOf(warc).endsWith(suffixes[format]), newestOf(warc));
      tear(warc, k);
      const { lost } = recover(directory);
      assert.equal(lost, null);
      const now = await assertWhole(directory);
      assert.ok(now >= pages, 'no page is lost');
      pages = now;
    }
    assert.ok(pages > kills, `${pages} pages`);
    const files = fs.readdirSync(warc).filter(isArchive);
    for (const format of formats) {
      assert.ok(
        files.some((name) => name.endsWith(suffixes[format])),
        `files of ${format}`,
      );
    }
    t.diagnostic(`${pages} pages in ${files.length} files`);
  });
}

test('archive: if a file is cut, the pages of the lost records are requeued', async (t) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-archive-'));
  t.after(() => fs.rmSync(directory, { recursive: true }));
  const warc = path.join(directory, 'warc');
  const inNewest = () => {
    const name = path.basename(newestOf(warc));
    return rowsIn(directory).filter(({ file }) => file === name).length;
  };
  // On a busy machine a life may write few records.
  for (let seed = 1; seed === 1 || inNewest() < 10; seed++) {
    assert.ok(seed <= 50, 'no life has written ten records to one file');
    await live(directory, { seed, ms: 100 });
    recover(directory);
  }
  const before = await assertWhole(directory);
  const newest = newestOf(warc);
  const bytes = fs.statSync(newest).size;
  for (const share of [0.9, 0.4, 0.1]) {
    fs.truncateSync(newest, Math.floor(bytes * share));
    const { lost, notice } = recover(directory);
    assert.ok(lost && notice?.includes('queued again'));
    if (!fs.existsSync(newest)) break;
    const rest = await assertWhole(directory);
    assert.ok(rest < before);
    const db = new Database(path.join(directory, 'state.sqlite'), { readonly: true });
    const queued = db.prepare('SELECT count(*) FROM frontier').pluck().get();
    const host = db.prepare('SELECT pages_done, pages_queued FROM hosts').get();
    db.close();
    assert.equal(queued, before - rest);
    assert.deepEqual(host, { pages_done: rest, pages_queued: before - rest });
  }
});

/** Appends half of an interrupted write: bytes beyond the confirmed end. */
function tear(warc: string, k: number): void {
  const newest = newestOf(warc);
  if (k % 2 === 0) fs.appendFileSync(newest, Buffer.alloc((k * 997) % 5000, 0x1f));
  if (k % 3 === 0) fs.appendFileSync(indexOf(newest), 'org,exam');
}

function newestOf(warc: string): string {
  const files = fs.readdirSync(warc).filter(isArchive);
  const serial = (name: string) => Number(/-(\d+)\.warc\./.exec(name)?.[1]);
  files.sort((a, b) => serial(a) - serial(b));
  return path.join(warc, files.at(-1)!);
}
