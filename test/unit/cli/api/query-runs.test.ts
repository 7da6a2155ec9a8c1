// Queries and extracts that fail or are ended: each is answered, keeps no other out, and leaves no
// file behind.

import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { QueryRuns } from '../../../../agent/cli/api/query-runs.ts';
import { routeOf } from '../../../../agent/cli/api/routes.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SmallDisk } from '../../../chaos/storage-disks.ts';

const copiesIn = (directory: string) =>
  readdirSync(directory).filter((name) => name.startsWith('ubiring-copy-'));

test('an extract that fails is a problem with its remedy, and frees its place', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-runs-'));
  const before = process.env.TMPDIR;
  const state = join(directory, 'state.sqlite');
  writeFileSync(state, 'no database');
  const runs = new QueryRuns({ file: '', dataDir: directory, isDataGiven: false }, []);
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
    assert.deepEqual(copiesIn(directory), []);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(directory, { recursive: true });
  }
});

/** So that the files of queries and extracts are there. */
function withTemporaryFilesIn(t: TestContext, directory: string): void {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = directory;
  t.after(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
}

test('an extract for which there is no room is a problem of the directory, not of the state', async (t) => {
  const { directory, runs } = withState(t);
  const files = join(directory, 'files');
  mkdirSync(files);
  withTemporaryFilesIn(t, files);
  const state = join(directory, 'a1', 'state.sqlite');
  const extract = runs.extract(state, ['pages'], new AbortController().signal);
  // The process that has been started does not run yet. Each write to this device finds it full.
  symlinkSync('/dev/full', join(files, copiesIn(files)[0]!, 'state.sqlite'));
  await assert.rejects(extract, (error) => {
    assert.ok(error instanceof HttpProblem, String(error));
    const { status, code, detail, remedy } = error.document;
    assert.deepEqual([status, code], [503, 'extract-unwritable'], detail);
    assert.match(detail, new RegExp(`^cannot write in ${files}: .*full`));
    assert.match(remedy, /^name a directory with room in TMPDIR on the machine/);
    return true;
  });
});

/** A directory with the state of an agent, a config for it, and the state. */
function withState(t: TestContext) {
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
  t.after(() => {
    state.unlock();
    state.db.close();
    rmSync(directory, { recursive: true });
  });
  return {
    directory,
    db: state.db,
    runs: new QueryRuns({ file, dataDir: directory, isDataGiven: false }, []),
  };
}

test('a query for which there is no room is a problem of the directory, not of the query', async (t) => {
  const { directory, runs } = withState(t);
  const files = join(directory, 'files');
  const disk = SmallDisk.mount(t, files, 64);
  if (typeof disk === 'string') return t.skip(disk);
  withTemporaryFilesIn(t, files);
  const sorted = `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 300000)
    SELECT x, hex(randomblob(20)) AS h FROM c ORDER BY h`;
  await assert.rejects(runs.query(sorted, new AbortController().signal), (error) => {
    assert.ok(error instanceof HttpProblem, String(error));
    const { status, code, detail, remedy } = error.document;
    assert.deepEqual([status, code], [503, 'query-unwritable'], detail);
    assert.match(detail ?? '', /^cannot write in .*database or disk is full$/);
    assert.equal(remedy, 'name a directory with room in TMPDIR on the machine of the agent');
    return true;
  });
});

test('a query counts as running until its answer is read, or its client has gone', async (t) => {
  const { runs } = withState(t);
  const clients = [new AbortController(), new AbortController(), new AbortController()];
  const ask = (k: number) => runs.query('SELECT 1 AS n', clients[k]!.signal);
  for (const k of [0, 1]) {
    const { rows } = JSON.parse(String(await ask(k))) as { rows: unknown };
    assert.deepEqual(rows, [{ n: 1 }]);
  }
  const isBusy = (error: unknown) =>
    error instanceof HttpProblem && error.document.code === 'query-busy';
  await assert.rejects(ask(2), isBusy);
  clients[0]!.abort();
  await ask(2);
});

test('the answer to a query names its columns in order, and has exact integers', async (t) => {
  const { runs } = withState(t);
  const ask = async (sql: string) => {
    const client = new AbortController();
    const answer = String(await runs.query(sql, client.signal));
    client.abort();
    return answer;
  };
  const [first, none] = [
    'SELECT 9007199254740993 AS b, \'x": \' AS "a""\\", 1 AS "1"',
    'SELECT 1 WHERE 0',
  ];
  const text = await ask(first!);
  assert.deepEqual(JSON.parse(text).columns, ['b', 'a"\\', '1']);
  assert.match(text, /"b":9007199254740993,/);
  assert.deepEqual(JSON.parse(await ask(none!)), { rows: [], columns: [], problems: [] });
});

for (const what of ['query', 'extract'] as const) {
  test(`what a killed ${what} has copied is removed`, async (t) => {
    const { directory, db, runs } = withState(t);
    // The state of an older version is copied. The copy takes so long that the test finds it.
    db.exec(`CREATE TABLE filler AS WITH RECURSIVE c(x) AS
      (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 60) SELECT zeroblob(1000000) FROM c`);
    db.pragma(`user_version = ${Number(db.pragma('user_version', { simple: true })) - 1}`);
    const copies = join(directory, 'copies');
    mkdirSync(copies);
    withTemporaryFilesIn(t, copies);
    const client = new AbortController();
    const running =
      what === 'query'
        ? runs.query('SELECT count(*) FROM pages', client.signal)
        : runs.extract(join(directory, 'a1', 'state.sqlite'), ['pages'], client.signal);
    const ended = assert.rejects(running, HttpProblem);
    const isCopied = () => readdirSync(copies, { recursive: true }).join().includes('.sqlite');
    while (!isCopied())
      await Promise.race([setImmediate(), ended.then(() => assert.fail('ended'))]);
    if (what === 'extract') client.abort();
    else {
      // The server ends at once.
      runs.close();
      assert.deepEqual(copiesIn(copies), []);
    }
    await ended;
    assert.deepEqual(copiesIn(copies), []);
  });
}

test('rejected SQL is a problem with the cause and remedy of the command, whatever its text', async (t) => {
  const { runs, directory } = withState(t);
  const file = join(directory, 'crawl.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as object;
  // The command says first that a2 has no state.
  writeFileSync(file, JSON.stringify({ ...config, cluster: { agents: 2 } }));
  const causes: [sql: string, detail: RegExp, remedy: RegExp][] = [
    ['SELECT x FROM links', /^the query is not valid: no such column: x$/, /^links has agent, /],
    ['SELECT "disk is full" FROM links', /column: "disk is full"/, /^write text in single quotes/],
  ];
  for (const [sql, detail, remedy] of causes) {
    await assert.rejects(runs.query(sql, new AbortController().signal), (error) => {
      assert.ok(error instanceof HttpProblem, String(error));
      assert.deepEqual([error.document.code, error.document.status], ['query-failed', 400]);
      assert.match(error.document.detail ?? '', detail);
      assert.match(error.document.remedy, remedy);
      return true;
    });
  }
  const found = routeOf('POST', '/api/v1/query');
  assert.ok(found && 'route' in found);
  assert.equal(found.route.body?.safeParse({ sql: 'SELECT 1' }).success, true);
  assert.equal(found.route.body?.safeParse({ sql: 'SELECT "\0"' }).success, false);
});

test('each problem of a query is a whole statement', async (t) => {
  const { runs, directory } = withState(t);
  mkdirSync(join(directory, 'a2'));
  writeFileSync(join(directory, 'a2', 'state.sqlite'), 'no database');
  const answer = String(await runs.query('SELECT 1 AS n', new AbortController().signal));
  const { problems } = JSON.parse(answer) as { problems: readonly string[] };
  assert.equal(problems.length, 2, problems.join('\n'));
  assert.match(problems[0]!, /a2.* is damaged/);
  assert.match(problems[1]!, /^the output is not complete: .*; \S.* restore it from/);
  assert.ok(
    problems.every((one) => /^[\P{Cc}]+$/u.test(one)),
    JSON.stringify(problems),
  );
});
