// Extracts that cannot be made: each is answered, and keeps no other out.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { QueryRuns } from '../../../../agent/cli/api/query-runs.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { openState } from '../../../../agent/storage/file/database.ts';

test('an extract that fails is a problem with its remedy, and frees its place', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-runs-'));
  const before = process.env.TMPDIR;
  const state = join(directory, 'state.sqlite');
  writeFileSync(state, 'no database');
  const runs = new QueryRuns({ file: '', dataDir: directory }, null);
  const isRefused = (code: string, remedy: RegExp) =>
    assert.rejects(runs.extract(state, ['pages'], new AbortController().signal), (error) => {
      assert.ok(error instanceof HttpProblem, String(error));
      assert.equal(error.document.code, code);
      assert.match(error.document.remedy, remedy);
      return true;
    });
  try {
    process.env.TMPDIR = join(directory, 'missing');
    // More than may run at the same time.
    for (let i = 0; i < 6; i++)
      await isRefused('extract-unwritable', /room in TMPDIR on the machine/);
    process.env.TMPDIR = directory;
    await isRefused('state-unreadable', /dashboard/);
    assert.deepEqual(readdirSync(directory), ['state.sqlite']);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(directory, { recursive: true });
  }
});

test('a query counts as running until its answer is read, or its client has gone', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-runs-'));
  const file = join(directory, 'crawl.json');
  writeFileSync(
    file,
    JSON.stringify({
      ...{ seeds: ['http://a.test/'], agent: { dataDir: directory } },
      http: { userAgent: 'test (+https://example.org/test)' },
    }),
  );
  const state = openState({ directory: join(directory, 'a1'), crawl: 'crawl', agent: 'a1' });
  assert.ok(state.ok);
  const runs = new QueryRuns({ file, dataDir: directory }, null);
  const clients = [new AbortController(), new AbortController(), new AbortController()];
  const ask = (k: number) => runs.query('SELECT 1 AS n', clients[k]!.signal);
  try {
    for (const k of [0, 1]) {
      const { rows } = JSON.parse(String(await ask(k))) as { rows: unknown };
      assert.deepEqual(rows, [{ n: 1 }]);
    }
    const isBusy = (error: unknown) =>
      error instanceof HttpProblem && error.document.code === 'query-busy';
    await assert.rejects(ask(2), isBusy);
    clients[0]!.abort();
    await ask(2);
  } finally {
    state.unlock();
    state.db.close();
    rmSync(directory, { recursive: true });
  }
});
