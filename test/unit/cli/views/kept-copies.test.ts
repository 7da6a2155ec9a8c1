import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { KeptCopies } from '../../../../agent/cli/views/kept-copies.ts';
import { MIGRATIONS } from '../../../../agent/storage/schema/migrations.ts';
import { crawlOf } from './state-files.ts';

/** Early enough to be copied, and late enough to have hosts. */
const OLD_SCHEMA = 12;

/** The hosts of a state file; 'no copy' if it had to be copied. */
function hostsIn(copies: KeptCopies, path: string): unknown {
  const before = process.env.TMPDIR;
  // A further copy fails.
  process.env.TMPDIR = '/nonexistent';
  try {
    const file = copies.open('a1', path);
    if (typeof file === 'string') return 'no copy';
    // An iterator that is left open, as by a reader that throws.
    file.rows('SELECT 1 UNION SELECT 2').next();
    const hosts = [...file.rows('SELECT host FROM hosts ORDER BY 1')].flat();
    file.close();
    return hosts;
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}

function oldState(t: TestContext) {
  const { fileOf } = crawlOf(t, ['a1'], () => {});
  const path = fileOf('a1');
  fs.rmSync(path);
  const db = new Database(path);
  t.after(() => db.close());
  for (const step of MIGRATIONS.slice(0, OLD_SCHEMA)) db.exec(step);
  db.pragma(`user_version = ${OLD_SCHEMA}`);
  const add = (host: string) =>
    db.prepare('INSERT INTO host_rows (host, owned, queued) VALUES (?, 1, 1)').run(host);
  add('h1.test');
  return { path, add };
}

test('kept copies: a file of an older schema is copied once, and again after a change', (t) => {
  const { path, add } = oldState(t);
  let now = 0;
  const copies = new KeptCopies(() => now);
  assert.equal(hostsIn(copies, path), 'no copy', 'the first needs a copy');
  const first = copies.open('a1', path);
  assert.ok(typeof first !== 'string' && first.isCopy);
  first.close();
  for (; now < 60_000; now += 20_000) assert.deepEqual(hostsIn(copies, path), ['h1.test']);
  add('h2.test');
  assert.equal(hostsIn(copies, path), 'no copy', 'the file has changed');
  const second = copies.open('a1', path);
  assert.ok(typeof second !== 'string');
  second.close();
  assert.deepEqual(hostsIn(copies, path), ['h1.test', 'h2.test']);
  add('h3.test');
  now += 9999;
  assert.deepEqual(hostsIn(copies, path), ['h1.test', 'h2.test'], 'a copy may be 10 s old');
  now++;
  assert.equal(hostsIn(copies, path), 'no copy');
});

test('kept copies: a file of this version is read in place, and not kept', (t) => {
  const { fileOf } = crawlOf(t, ['a1'], (store) =>
    store.enqueue('h.test', { url: 'http://h.test/', depth: 0 }, null),
  );
  const copies = new KeptCopies();
  assert.deepEqual(hostsIn(copies, fileOf('a1')), ['h.test']);
  fs.rmSync(join(fileOf('a1'), '..'), { recursive: true });
  fs.mkdirSync(join(fileOf('a1'), '..'));
  assert.equal(hostsIn(copies, fileOf('a1')), 'no copy');
});
