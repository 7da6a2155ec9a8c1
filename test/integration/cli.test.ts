// Commands of the command line that need no running crawl: exit codes, messages and output formats.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openState } from '../../agent/storage/file/database.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { call, run, runProcess, Scratch, start } from './cli-process.ts';

/** Writes more finished pages than a pipe can hold. */
function writePages(directory: string): void {
  const state = openState({ directory, crawl: 'cli-test', agent: 'a1' });
  assert.ok(state.ok);
  const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
  const ended = { status: 200, contentType: null, bytes: 1, digest: null, redirectTo: null };
  store.begin();
  const { number } = store.host('h.test');
  for (let k = 0; k < 20_000; k++) {
    const url = `http://h.test/${'x'.repeat(80)}/${k}`;
    store.enqueue('h.test', { url, depth: 1, referrer: 'http://h.test/' }, null);
    const times = { fetchedAt: 1, durationMs: 1, attempts: 1 };
    store.recordPage(number, { url, ...ended, ...times, error: null });
  }
  store.commit(true);
  store.close();
  state.unlock();
}

describe('command line', { concurrency: 4 }, () => {
  const scratch = new Scratch();
  let config: string;
  let exported: string;
  before(async () => {
    config = await scratch.config(3);
    const directory = path.join(scratch.dataDir, 'a1');
    const state = openState({ directory, crawl: 'cli-test', agent: 'a1' });
    assert.ok(state.ok);
    const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
    store.begin();
    for (let k = 0; k < 5000; k++) {
      store.enqueue('h.test', { url: `http://h.test/${k}`, depth: 1 }, null);
    }
    store.commit(true);
    store.close();
    state.unlock();
    const seeds = ['http://h.test/'];
    const alone = {
      name: 'cli-test',
      seeds,
      agent: { dataDir: 'exported' },
      http: { userAgent: 'e (e@h.test)' },
    };
    exported = scratch.write('exported.json', alone);
    fs.mkdirSync(path.join(scratch.directory, 'exported'));
    const ports = { agents: [{ id: 'a1', port: 1 }] };
    scratch.write('exported/cluster.json', JSON.stringify(ports));
    writePages(path.join(scratch.directory, 'exported', 'a1'));
  });
  after(() => scratch.clean());

  test('a usage error ends with 2, suggests the correct form and prints nothing on stdout', async () => {
    const wrong: [string[], RegExp][] = [
      [[], /Usage: ubiring/],
      [['lanch', config], /Did you mean launch\?/],
      [['launch', config, '--frsh'], /Did you mean --fresh\?/],
      [['launch', config, '--agents', '0'], /number of 1 or more/],
      [['agent', config], /required option '--id/],
      [['query', config], /missing required argument 'sql'/],
      [['query', config, 'SELECT 1', '--format', 'xml'], /Allowed choices are table, json, csv/],
      [['owner', config, 'a b'], /neither a host nor/],
      [['config', 'chek', config], /Did you mean check\?/],
    ];
    await Promise.all(
      wrong.map(async ([args, says]) => {
        const { code, stdout, stderr } = await call(args);
        assert.deepEqual([code, stdout], [2, ''], args.join(' '));
        assert.match(stderr, says, args.join(' '));
      }),
    );
  });

  test('a command has the same result as a process and as a call', async () => {
    const commands = [
      [],
      ['--help'],
      ['query', '--help'],
      ['--version'],
      ['config', 'print', config],
      ['query', config, 'SELECT url FROM frontier'],
      ['query', config, 'SELECT nope FROM pages', '--json'],
      ['export', exported],
      ['audit', config, '--json'],
      ['status', config],
      ['explain', config, 'http://h.test/1'],
      ['ring', config],
      ['kill', config, 'a9'],
      ['launch', config, '--agents', '0'],
    ];
    for (const args of commands) {
      assert.deepEqual(await runProcess(...args), await call(args), args.join(' '));
    }
  });

  test('help and version print on stdout and end with 0', async () => {
    const help = await run('--help');
    assert.equal(help.code, 0);
    assert.match(help.stdout, /Examples:[\s\S]*ubiring launch crawl\.yaml/);
    assert.match((await run('query', '--help')).stdout, /SELECT agent, count/);
    assert.match((await run('top', '--help')).stdout, /key h explains .*, and q quits\./);
    const shown = 'launch agent status top query explain export block delay seed replay'.split(' ');
    for (const command of shown) {
      const { stdout } = await call([command, '--help']);
      assert.match(stdout, new RegExp(`\\n\\nExamples:\n  ubiring ${command} crawl`), command);
    }
    const version = await run('--version');
    assert.deepEqual([version.code, /^\d+\.\d+\.\d+\n$/.test(version.stdout)], [0, true]);
  });

  test('an invalid config ends a command with 4 and names key, line and remedy', async () => {
    const bad = scratch.write('bad.yaml', 'seeds: [https://example.org/]\nlimit: { pages: 3 }\n');
    for (const args of [
      ['launch', bad],
      ['config', 'check', bad],
    ]) {
      const { code, stderr } = await call(args);
      assert.equal(code, 4);
      assert.match(stderr, /bad\.yaml:2:\d+: limit: .*limits/);
    }
    assert.equal((await run('status', path.join(scratch.directory, 'none.yaml'))).code, 4);
  });

  test('an unknown agent is a usage error that names the known agents', async () => {
    const commands = [
      ['agent', config, '--id', 'a9'],
      ['launch', config, '--agents', 'a1,a9'],
      ['kill', config, 'a9'],
      ['stop', config, 'a9'],
      ['drain', config, 'a9'],
      ['capacity', config, 'a9', '2'],
      ['threads', config, 'a9', '2'],
    ];
    for (const args of commands) {
      const { code, stderr } = await call(args);
      assert.equal(code, 2, args[0]);
      assert.match(stderr, /no agent a9 in .*a1, a2, a3/, args[0]);
    }
  });

  test('an unwritable data directory ends with 4', async () => {
    const file = scratch.write('a-file', 'x');
    const commands = [
      ['launch', config, '--data', file],
      ['agent', config, '--id', 'a1', '--data', file],
    ];
    const ends = commands.map((args) => ({ args, ended: call(args) }));
    // Even root cannot write there, and Node's recursive mkdir would never return: a process can be
    // killed then.
    const args = ['launch', config, '--data', '/proc/a-file'];
    if (fs.existsSync('/proc/self')) ends.push({ args, ended: run(...args) });
    for (const { args, ended } of ends) {
      const { code, stderr } = await ended;
      assert.equal(code, 4, args.join(' '));
      assert.match(stderr, /a-file.*; name another directory with --data/, args.join(' '));
    }
  });

  test('query prints each format, and ends with 2 if the SQL is invalid', async () => {
    const sql = 'SELECT agent, host, pages_queued AS n FROM hosts';
    const json = await run('query', config, sql, '--json');
    assert.deepEqual(JSON.parse(json.stdout), [{ agent: 'a1', host: 'h.test', n: 5000 }]);
    const away = 'it is not a member now, so others own its hosts';
    assert.match(
      json.stderr,
      new RegExp(`a2: no state in .*; ${away}\na3: no state in .*; ${away}`),
    );
    const csv = await run('query', config, sql, '--format', 'csv');
    assert.equal(csv.stdout, 'agent,host,n\r\na1,h.test,5000\r\n');
    const table = await run('query', config, sql);
    assert.match(table.stdout, /^agent {2}host {7}n\n[- ]+\na1 {5}h\.test {2}5000\n$/);
    const wrong = await run('query', config, 'SELECT nope FROM pages');
    assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
    assert.match(
      wrong.stderr,
      /the query is not valid: no such column: nope; pages has agent, url, /,
    );
    const writing = await run('query', config, 'DROP TABLE pages');
    assert.equal(writing.code, 2);
    const late = await run('query', config, "SELECT json('{') FROM hosts");
    assert.deepEqual([late.code, /the query failed: malformed JSON/.test(late.stderr)], [2, true]);
  });

  test('status says that a crawl was complete before its config changed', async () => {
    const other = path.join(scratch.directory, 'other');
    fs.mkdirSync(other);
    const note = { crawl: 'of another scope', at: 1, agents: ['a1'] };
    fs.writeFileSync(path.join(other, 'complete.json'), JSON.stringify(note));
    const { code, stderr } = await run('status', config, '--data', other);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /was complete, but its seeds, limits or scope were others: launch continues/,
    );
  });

  test('without a state, query ends with 1, and explain does not know what no file says', async () => {
    const empty = path.join(scratch.directory, 'empty');
    fs.mkdirSync(empty);
    const { code, stderr } = await run('query', config, 'SELECT 1', '--data', empty);
    assert.equal(code, 1);
    assert.match(stderr, /no agent has a readable state/);
    const { stdout } = await run('explain', config, 'http://h.test/1', '--data', empty);
    for (const [filter, why] of [
      ['depth', 'not known yet; limits\\.depthPerHost is 16'],
      ['pages', 'not known yet; limits\\.pagesPerHost is \\d+'],
      ['block', 'not known yet'],
    ]) {
      assert.match(stdout, new RegExp(`^${filter} +unknown +${why}$`, 'm'));
    }
  });

  test('query ends without an error if its reader closes the pipe', async () => {
    const sql = 'SELECT a.url, b.url FROM frontier a, frontier b';
    const { child, ended } = start(['query', config, sql, '--format', 'csv']);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const { code, stdout, stderr } = await ended;
    assert.equal(code, 0);
    assert.ok(stdout.length < 10_000_000, 'the whole output would be a gigabyte');
    assert.match(stderr, /^a2: no state in .*\na3: no state in .*\n$/);
  });

  test('export ends without an error if its reader closes the pipe', async () => {
    for (const format of ['jsonl', 'urls', 'graph']) {
      const { child, ended } = start(['export', exported, '--format', format]);
      child.stdout?.once('data', () => child.stdout?.destroy());
      const { code, stdout, stderr } = await ended;
      const notice = format === 'graph' ? /^the crawl has kept no links: .*\n$/ : /^$/;
      assert.equal(code, 0, format);
      assert.match(stderr, notice, format);
      assert.ok(stdout.length < 1_000_000, `${format}: ${stdout.length} of some 2 MB`);
    }
  });

  test('a command that fails has its exit code if its reader closes the pipe', async () => {
    const wrong = scratch.write('wrong.json', '{}');
    const broken = scratch.write('broken.json', {
      name: 'broken',
      seeds: ['http://h.test/'],
      agent: { dataDir: 'broken' },
      http: { userAgent: 'e (e@h.test)' },
    });
    const directory = path.join(scratch.directory, 'broken', 'a1');
    const state = openState({ directory, crawl: 'broken', agent: 'a1' });
    assert.ok(state.ok);
    const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
    store.begin();
    store.enqueue('h.test', { url: 'http://h.test/', depth: 0 }, null);
    store.commit(true);
    state.db.exec('UPDATE host_rows SET queued = queued + 1');
    store.close();
    state.unlock();
    for (const [expected, ...args] of [
      [1, 'audit', broken],
      [1, 'kill', config, 'a2'],
      [4, 'config', 'check', wrong, '--json'],
    ] as const) {
      const { child, ended } = start([...args]);
      child.stdout?.destroy();
      const { code, stdout, stderr } = await ended;
      assert.deepEqual([code, stdout], [expected, ''], `${args.join(' ')}: ${stderr}`);
    }
  });

  test('launch takes every identifier that a config permits, also with blanks', async () => {
    const ids = ['münchen', '東京', 'नमस्ते'];
    const cluster = { agents: ids.map((id, k) => ({ id, listen: `tcp://127.0.0.1:${k + 1}` })) };
    const file = scratch.write('letters.json', {
      name: 'letters',
      seeds: ['http://h.test/'],
      http: { userAgent: 'e (e@h.test)' },
      cluster,
    });
    for (const id of ids) {
      const { code, stderr } = await call(['launch', file, '--agents', ` ${id}, x`]);
      assert.deepEqual([code, /no agent x in the config/.test(stderr)], [2, true], stderr);
    }
    for (const wrong of ['', '0', ' ', 'a1,', 'a1 a2', 'a/1']) {
      const { code, stderr } = await call(['launch', file, '--agents', wrong]);
      assert.deepEqual([code, /Give a number of 1 or more/.test(stderr)], [2, true], stderr);
    }
  });

  test('owner prints a JSON line for each host, equal for all spellings of a host', async () => {
    const { code, stdout } = await run('owner', config, 'Example.org', 'https://example.org:1/x');
    assert.equal(code, 0);
    const [first, second] = stdout.trimEnd().split('\n');
    assert.equal(first, second);
    const { host, order } = JSON.parse(first!) as { host: string; order: string[] };
    assert.equal(host, 'example.org');
    assert.deepEqual(order.toSorted(), ['a1', 'a2', 'a3']);
  });

  test('ring prints points, balance, and shares that add up to one', async () => {
    const { stdout } = await run('ring', config, '--json');
    const report = JSON.parse(stdout) as {
      agents: { id: string; points: number; share: number }[];
      balance: { sigma: number };
    };
    assert.deepEqual(
      report.agents.map(({ id, points }) => [id, points]),
      [
        ['a1', 200],
        ['a2', 200],
        ['a3', 200],
      ],
    );
    const sum = report.agents.reduce((total, { share }) => total + share, 0);
    assert.ok(Math.abs(sum - 1) < 1e-9);
    assert.ok(report.balance.sigma < 0.2);
    assert.match((await run('ring', config)).stdout, /a3 +1 +200 +\d+\.\d % .*█/);
  });

  test('config check, print and schema print their results', async () => {
    const check = await run('config', 'check', config);
    assert.equal(check.code, 0);
    assert.match(check.stdout, /crawl\.json is valid/);
    const print = await run('config', 'print', config, '--data', '/elsewhere');
    const printed = scratch.write('printed.yaml', print.stdout);
    assert.equal((await run('config', 'check', printed)).code, 0);
    assert.match(print.stdout, /dataDir: \/elsewhere/);
    const json = JSON.parse((await run('config', 'print', config, '--json')).stdout);
    assert.equal(json.limits.pagesPerHost, 10_000);
    const schema = JSON.parse((await run('config', 'schema')).stdout);
    assert.equal(schema.properties.politeness.type, 'object');
    const bad = scratch.write('bad.json', '{"seeds": 7}');
    const problems = await run('config', 'check', bad, '--json');
    assert.equal(problems.code, 4);
    const report = JSON.parse(problems.stdout) as { ok: boolean; problems: { path: string }[] };
    assert.deepEqual([report.ok, report.problems[0]?.path], [false, 'seeds']);
  });

  test('status, stop and kill end with 1 and say so if the cluster does not run', async () => {
    const status = await run('status', config);
    assert.equal(status.code, 1);
    assert.match(status.stderr, /a1: no agent runs in .*\n[\s\S]*query .*crawl\.json/);
    assert.equal((await run('stop', config)).code, 1);
    const killed = await call(['kill', config, 'a1']);
    assert.deepEqual([killed.code, killed.stdout], [1, 'a1: does not run on this machine\n']);
  });

  test('kill sends no signal to the process in a stale pid file', async () => {
    const directory = path.join(scratch.dataDir, 'a2');
    fs.mkdirSync(directory);
    fs.writeFileSync(path.join(directory, 'agent.pid'), `${process.pid}\n`);
    assert.match((await run('kill', config, 'a2')).stdout, /does not run/);
    fs.rmSync(directory, { recursive: true });
  });
});
