// What `launch --fresh` deletes from an agent's directory, what it keeps, and what it prints.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { planFreshStart } from '../../../../agent/cli/launch/fresh-start.ts';

const at = Date.UTC(2026, 10, 24, 19, 30);
const aside = 'archives/2026-11-24T19-30-00.000Z';

function directoryWith(t: TestContext, files: readonly string[]): string {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-fresh-'));
  t.after(() => fs.rmSync(root, { recursive: true, force: true }));
  const directory = path.join(root, 'a1');
  fs.mkdirSync(directory);
  for (const file of files) {
    fs.mkdirSync(path.dirname(path.join(directory, file)), { recursive: true });
    fs.writeFileSync(path.join(directory, file), 'x'.repeat(1024));
  }
  return directory;
}

function left(directory: string): string[] {
  const entries = fs.readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => path.relative(directory, path.join(parentPath, name)));
}

function empty(directory: string, deleteArchives = false): readonly string[] {
  const plan = planFreshStart([directory], at, deleteArchives);
  assert.ok(typeof plan !== 'string', String(plan));
  plan.run();
  return plan.lines;
}

const crawl = ['state.sqlite', 'state.sqlite-wal', 'agent.log', 'warc/a.warc.gz', 'warc/a.cdxj'];

test('fresh: moves archives aside, deletes state and log, and reports both', (t) => {
  const directory = directoryWith(t, crawl);
  const lines = empty(directory);
  assert.deepEqual(left(directory).sort(), [`${aside}/a.cdxj`, `${aside}/a.warc.gz`]);
  assert.deepEqual(lines, [
    `${directory}: keeps its archives (2.0 KiB), moved to ${directory}/${aside}`,
    `${directory}: deletes its state and log (3.0 KiB)`,
  ]);
});

test('fresh: keeps the archives of previous crawls and a quarantined state', (t) => {
  const kept = ['archives/before/a.warc.gz', 'quarantine/then/state.sqlite'];
  const directory = directoryWith(t, [...crawl, ...kept]);
  empty(directory);
  assert.deepEqual(
    left(directory).sort(),
    [...kept, `${aside}/a.cdxj`, `${aside}/a.warc.gz`].sort(),
  );
});

test('fresh: --delete-archives deletes all archives, and reports their size', (t) => {
  const directory = directoryWith(t, [...crawl, 'archives/before/a.warc.gz']);
  const lines = empty(directory, true);
  assert.deepEqual(left(directory), []);
  assert.equal(lines[0], `${directory}: deletes its archives (3.0 KiB)`);
});

test('fresh: keeps a symbolic link to the directory', (t) => {
  const directory = directoryWith(t, crawl);
  const link = `${directory}-link`;
  fs.symlinkSync(directory, link);
  empty(link);
  assert.ok(fs.lstatSync(link).isSymbolicLink());
  assert.deepEqual(left(directory).sort(), [`${aside}/a.cdxj`, `${aside}/a.warc.gz`]);
});

for (const deleteArchives of [false, true]) {
  const what = deleteArchives ? 'deleted' : 'moved aside at its target';
  test(`fresh: archives behind a link are ${what}, and the link stays`, (t) => {
    const directory = directoryWith(t, ['state.sqlite', 'agent.log']);
    const disk = directoryWith(t, ['a.warc.gz', 'archives/before/b.warc.gz']);
    fs.symlinkSync(path.relative(directory, disk), path.join(directory, 'warc'));
    const [first] = empty(directory, deleteArchives);
    const time = path.basename(aside);
    const moved = [`archives/${time}/a.warc.gz`, 'archives/before/b.warc.gz'];
    assert.deepEqual(left(disk).sort(), deleteArchives ? [] : moved);
    assert.equal(fs.realpathSync(path.join(directory, 'warc')), fs.realpathSync(disk));
    const size = deleteArchives ? 'deletes its archives (2.0 KiB)' : 'keeps its archives (1.0 KiB)';
    assert.ok(first?.startsWith(`${directory}: ${size}`), first);
  });
}

test('fresh: changes nothing if one directory does not belong to an agent', (t) => {
  const [mine, other] = [directoryWith(t, crawl), directoryWith(t, ['letters/to-x.txt'])];
  const refused = planFreshStart([mine, other], at, false);
  assert.match(String(refused), /is not an agent's directory: it is not deleted; move it away/);
  assert.equal(left(mine).length, crawl.length);
});

test('fresh: accepts a directory that was emptied before', (t) => {
  const directory = directoryWith(t, crawl);
  empty(directory);
  assert.deepEqual(empty(directory), []);
});
