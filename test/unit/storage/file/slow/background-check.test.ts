// Tests the check of a state file while its agent writes to it: concurrent commits are not damage.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openState } from '../../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../../agent/storage/sqlite-store.ts';

const program = join(
  import.meta.dirname,
  '../../../../../agent/storage/file/background-check-process.ts',
);
const host = 'h.test';
/** Enough URLs that turns are committed while the check runs. */
const urls = 100_000;

test('background check: a file that is written to during the check is sound', async (t) => {
  const { directory, store } = stateOf(t);
  const check = spawn(process.execPath, [program, join(directory, 'state.sqlite')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => check.kill('SIGKILL'));
  let said = '';
  check.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  let ended = false;
  check.on('close', () => {
    ended = true;
  });
  let turns = 0;
  for (; !ended; turns++) {
    store.begin();
    store.enqueue(host, { url: `http://${host}/later/${turns}`, depth: 1 }, null);
    store.recordPage(store.host(host).number, {
      ...{ url: `http://${host}/${turns}`, status: 200, error: null, contentType: null, bytes: 1 },
      ...{ digest: null, fetchedAt: turns, durationMs: 1, redirectTo: null, attempts: 1 },
    });
    store.commit(false);
    await setImmediate();
  }
  assert.deepEqual(JSON.parse(said), { damage: null });
  assert.ok(turns > 10, `only ${turns} turns`);
});

function stateOf(t: TestContext): { directory: string; store: SqliteStore } {
  const directory = fs.mkdtempSync(join(tmpdir(), 'ubiring-check-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const opened = openState({ directory, crawl: 'c', agent: 'a' });
  assert.ok(opened.ok);
  t.after(() => opened.unlock());
  const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 1 });
  t.after(() => store.close());
  store.begin();
  for (let n = 0; n < urls; n++) {
    store.enqueue(host, { url: `http://${host}/${n}`, depth: 1 }, null);
  }
  store.commit(false);
  return { directory, store };
}
