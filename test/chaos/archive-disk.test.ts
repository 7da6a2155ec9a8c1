// The archive is on its own disk, which fills up under a running agent. The agent ends with the
// exit code and message of docs/COMMANDS.md, no page is done without its record, and with free
// space it resumes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import Database from 'better-sqlite3';
import { assertDigests, readWarc } from '../unit/archive/reading.ts';
import { fault, gated } from './harness.ts';
import { assertWhole } from './harness-verdict.ts';
import { SmallDisk } from './storage-disks.ts';

const diskKib = 8 * 1024;

/** Asserts that each answered page in the agent's state is at the place that its row names. */
async function assertArchived(directory: string): Promise<number> {
  const warc = path.join(directory, 'warc');
  const found = new Map<string, string>();
  for (const name of fs.readdirSync(warc).filter((file) => file.endsWith('.warc.gz'))) {
    const records = await readWarc(path.join(warc, name));
    assert.equal(records.length, assertDigests(path.join(warc, name)), name);
    for (const { type, offset, headers } of records) {
      if (type === 'response' || type === 'revisit') {
        found.set(`${name} ${offset}`, headers['warc-target-uri']!);
      }
    }
  }
  const db = new Database(path.join(directory, 'state.sqlite'), { readonly: true });
  const rows = db
    .prepare<[], { url: string; place: string }>(
      `SELECT fetch_url AS url, warc_file || ' ' || warc_offset AS place FROM pages
       WHERE status IS NOT NULL`,
    )
    .all();
  db.close();
  for (const { url, place } of rows) assert.equal(found.get(place), url, place);
  return rows.length;
}

describe('archive disks', () => {
  fault('the agent ends when its archive disk is full, and resumes with space', async (t, seed) => {
    const options = { agents: 1, web: { seed, pages: 20 }, delayMs: 120 };
    const { gate, cluster } = await gated(t, options);
    const directory = path.join(cluster.dataDir, 'a1');
    const disk = SmallDisk.mount(t, path.join(directory, 'warc'), diskKib);
    if (typeof disk === 'string') return t.skip(disk);
    await cluster.startAll();
    await cluster.reaches(0.3);
    disk.fill();
    const run = cluster.run('a1');
    await cluster.until('a1 ends', () => run.end !== null);
    const { code, stderr } = await run.ended;
    assert.equal(code, 3, stderr);
    assert.match(stderr, /disk full: .*a1.warc has \d+ KiB left.*free some space there/);
    assert.equal(cluster.state('a1').integrity(), 'ok');
    assert.ok((await assertArchived(directory)) > 0);
    disk.empty();
    await cluster.start('a1');
    gate.open();
    assertWhole(await cluster.finish(), { overlapMax: 2 * cluster.threads });
    await assertArchived(directory);
  });
});
