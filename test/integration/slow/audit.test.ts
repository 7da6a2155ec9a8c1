// An agent is killed during a crawl and not restarted. The audit of the remaining files must match
// the log of the web server for each URL, must agree with `query`, and must find later damage.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { checkFiles } from '../../../agent/cli/audit/audit-crawl.ts';
import type { Audit } from '../../../agent/cli/audit/audit-report.ts';
import { openStateFile } from '../../../agent/cli/common/query-files.ts';
import { parseCrawlUrl } from '../../../agent/url/crawl-url.ts';
import { judge } from '../../web/judge.ts';
import { type RunningWeb, startWeb } from '../../web/server.ts';
import { run, Scratch, start, until } from '../cli-process.ts';

const delayMs = 40;
const size = { hosts: 12, pages: 12, port: 0, answerMs: 5, shares: { flaky: 0, slow: 0 }, net: 61 };

describe('audit', () => {
  const scratch = new Scratch();
  let web: RunningWeb;
  let config: string;
  before(async () => {
    web = await startWeb(size);
    config = await scratch.config(3, {
      seeds: [web.seed],
      politeness: { hostDelayMs: delayMs },
    });
    const launch = start(['launch', config]);
    await until('25 requests', () => web.requests().length >= 25);
    process.kill(scratch.pid('a2')!, 'SIGKILL');
    const running = await run('audit', config, '--json');
    assert.equal(running.code, 0, running.stdout + running.stderr);
    assert.equal((JSON.parse(running.stdout) as Audit).complete, false);
    const { code, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
  });
  after(async () => {
    scratch.clean();
    await web.stop();
  });

  async function audited(data = scratch.dataDir): Promise<{ code: number | null; audit: Audit }> {
    const { code, stdout, stderr } = await run('audit', config, '--json', '--data', data);
    assert.notEqual(stdout, '', stderr);
    return { code, audit: JSON.parse(stdout) as Audit };
  }

  /** Copies all files, changes one by SQL and audits the copy. */
  async function spoilt(agent: string, sql: string) {
    const data = path.join(scratch.directory, 'spoilt');
    fs.rmSync(data, { recursive: true, force: true });
    fs.cpSync(scratch.dataDir, data, { recursive: true });
    const db = new Database(path.join(data, agent, 'state.sqlite'));
    const { changes } = db.prepare(sql).run();
    db.close();
    assert.equal(changes, 1, sql);
    return audited(data);
  }

  test('audit matches the log of the web server after an agent was killed', async () => {
    const { code, audit } = await audited();
    assert.equal(code, 0, JSON.stringify(audit.problems));
    const { missing, fetched } = judge(web.web, web.requests(), { delayMs });
    assert.deepEqual(missing.samples, []);
    assert.equal(audit.complete, true);
    assert.deepEqual(
      audit.agents.map(({ agent, inView }) => [agent, inView]),
      [
        ['a1', true],
        ['a2', false],
        ['a3', true],
      ],
    );
    assert.equal(audit.known, audit.done + audit.skippedTotal);
    assert.deepEqual([audit.queued, audit.failed, audit.unsettled], [0, 0, 0]);
    assert.deepEqual(audit.copies, { wanted: 2, hostsWithFew: 0, ahead: 0, behind: 0 });
    assert.ok(audit.done >= fetched, `${audit.done} done, ${fetched} fetched`);
    const { port } = new URL(web.seed);
    const asked = web.requests().filter(({ path: target }) => target !== '/robots.txt');
    const targets = new Set(
      asked.map(({ host, path: target }) => {
        const url = parseCrawlUrl(`http://${host}:${port}${target}`);
        return 'refused' in url ? url.refused : url.identity;
      }),
    );
    assert.equal(audit.done, targets.size);
  });

  test('query counts the same as audit, and attributes no rows to a dead agent', async () => {
    const { audit } = await audited();
    const sql =
      'SELECT (SELECT count(*) FROM pages) AS done, (SELECT count(*) FROM skipped) AS skipped, ' +
      '(SELECT count(*) FROM frontier) AS queued, (SELECT count(*) FROM hosts) AS hosts, ' +
      "(SELECT count(*) FROM hosts WHERE agent = 'a2') + " +
      "(SELECT count(*) FROM pages WHERE agent = 'a2') AS dead";
    const { stdout } = await run('query', config, sql, '--json');
    const { done, skippedTotal: skipped, queued, hosts } = audit;
    assert.deepEqual(JSON.parse(stdout), [{ done, skipped, queued, hosts, dead: 0 }]);
  });

  test('the events have the duration of each step of the takeover', async () => {
    const sql = 'SELECT agent, kind, detail FROM events';
    const { stdout } = await run('query', config, sql, '--json');
    const rows = JSON.parse(stdout) as { agent: string; kind: string; detail: string }[];
    const of = (agent: string, kind: string) => {
      const found = rows.filter((row) => row.agent === agent && row.kind === kind);
      return found.map(
        ({ detail }) => JSON.parse(detail) as Record<string, number> & { why?: string },
      );
    };
    for (const agent of ['a1', 'a3']) {
      const [suspect] = of(agent, 'suspect');
      assert.ok(suspect!.silentMs! >= 2000, 'no suspicion before suspectAfterMs');
      const [taken, first] = of(agent, 'takeover');
      assert.equal(taken!.why, 'suspect');
      assert.ok(taken!.hosts! > 0);
      assert.ok(taken!.tookMs! >= suspect!.silentMs!);
      if (first) assert.ok(first.firstRequestMs! >= taken!.tookMs!);
      assert.ok(of(agent, 'complete')[0]!.tookMs! > taken!.tookMs!);
    }
  });

  test('audit names a row that is missing at its owner or in its copy, or has a wrong state', async () => {
    const { audit } = await audited();
    const living = audit.agents.filter(({ inView }) => inView).map(({ agent }) => agent);
    const one = (owned: number) =>
      `SELECT u.id FROM urls u JOIN host_rows h ON h.number = u.id >> 28
       WHERE h.owned = ${owned} AND u.state = 1 ORDER BY h.number, u.key LIMIT 1`;
    const cases = [
      [`DELETE FROM urls WHERE id IN (${one(1)})`, 'ahead'],
      [`DELETE FROM urls WHERE id IN (${one(0)})`, 'behind'],
      [`UPDATE urls SET state = 0 WHERE id IN (${one(1)})`, 'bad-row'],
      [`UPDATE urls SET state = 3 WHERE id IN (${one(0)})`, 'bad-row'],
    ] as const;
    for (const [sql, ...kinds] of cases) {
      const { code, audit: found } = await spoilt(living[0]!, sql);
      assert.equal(code, 1, sql);
      const named = found.problems.list;
      for (const kind of kinds) {
        const hit = named.find((finding) => finding.kind === kind);
        assert.match(hit?.of ?? JSON.stringify(named), /^http:/, `${sql}: ${kind}`);
      }
    }
  });

  test('audit names the file and the URL of a row that is still queued in a complete crawl', async () => {
    const data = path.join(scratch.directory, 'spoilt');
    const insert = `INSERT INTO urls (id, key, state, depth, found)
      SELECT number << 28, 'h:1/left-over', 0, 1, 1 FROM host_rows WHERE owned LIMIT 1`;
    const { code } = await spoilt('a1', insert);
    assert.equal(code, 1);
    const { stdout } = await run('audit', config, '--data', data);
    assert.match(stdout, /a1\/state\.sqlite: http:\S+:1\/left-over: queued, though .* complete/);
    assert.match(stdout, /\nproblems: \d+\n$/);
  });

  test('audit ends with 4 and prints the finding of SQLite if a table that it does not read is damaged', async () => {
    const data = path.join(scratch.directory, 'unread');
    fs.cpSync(scratch.dataDir, data, { recursive: true });
    const file = path.join(data, 'a1', 'state.sqlite');
    const db = new Database(file);
    const page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'robots'").pluck();
    const [root, size] = [Number(page.get()), Number(db.pragma('page_size', { simple: true }))];
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
    const bytes = fs.readFileSync(file);
    bytes.fill(0xff, (root - 1) * size, (root - 1) * size + 100);
    fs.writeFileSync(file, bytes);
    const { code, stdout, stderr } = await run('audit', config, '--data', data);
    assert.deepEqual([code, stdout], [4, ''], stderr);
    const [said = '', ...remedy] = stderr.split('\n');
    assert.match(said, /^a1: .*a1\/state\.sqlite is damaged \(Tree \d+ page \d+.*\)$/);
    assert.match(remedy.join('\n'), /launch .* --repair/);
    const repaired = await run('launch', config, '--data', data, '--repair');
    assert.equal(repaired.code, 0, repaired.stderr);
    assert.match(repaired.stderr, /is damaged \(Tree \d+ page \d+.*quarantine/);
    assert.equal((await run('audit', config, '--data', data)).code, 0);
  });

  test('a check that runs out of time names the tables that it did not check', () => {
    const state = openStateFile('a1', path.join(scratch.dataDir, 'a1', 'state.sqlite'));
    assert.ok(typeof state !== 'string');
    assert.deepEqual(
      checkFiles([state], () => true),
      {},
    );
    let tables = 0;
    const { a1 = [] } = checkFiles([state], () => ++tables <= 2);
    state.close();
    assert.ok(a1.includes('robots') && !a1.includes('meta'), a1.join());
  });

  test('audit ends with 4 and names the file and a remedy if a state file is damaged or missing', async () => {
    const data = path.join(scratch.directory, 'broken');
    fs.cpSync(scratch.dataDir, data, { recursive: true });
    fs.rmSync(path.join(data, 'a3'), { recursive: true });
    const missing = await run('audit', config, '--data', data);
    assert.deepEqual([missing.code, missing.stdout], [4, '']);
    assert.match(missing.stderr, /a3: in view, but it has no state in .*\n.*\n.*directories/);
    fs.writeFileSync(path.join(data, 'a1', 'state.sqlite'), 'no database '.repeat(900));
    const damaged = await run('audit', config, '--data', data);
    assert.deepEqual([damaged.code, damaged.stdout], [4, '']);
    assert.match(
      damaged.stderr,
      /a1: .*a1\/state\.sqlite is damaged.*\n.*\n.*\n.*launch .* --repair/,
    );
  });
});
