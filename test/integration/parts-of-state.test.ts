// Commands that read a crawl with a missing or damaged state file print the readable part, name
// what is missing and end with 4.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openState } from '../../agent/storage/file/database.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { run, Scratch } from './cli-process.ts';

/** Writes the state of an agent with one finished page; the agent had all three in its view. */
function writeState(scratch: Scratch, agent: string): void {
  const state = openState({
    ...{ directory: path.join(scratch.dataDir, agent), crawl: 'cli-test', agent },
  });
  assert.ok(state.ok);
  const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
  store.begin();
  const url = `http://${agent}.test/`;
  store.enqueue(`${agent}.test`, { url, depth: 0 }, null);
  store.recordPage(store.host(`${agent}.test`).number, {
    ...{ url, status: 200, error: null, contentType: null, bytes: 1, digest: null },
    ...{ redirectTo: null, fetchedAt: 1, durationMs: 1, attempts: 1 },
  });
  store.event(1, 'join', { view: ['a1', 'a2', 'a3'] });
  store.commit(true);
  store.close();
  state.unlock();
}

const fileOf = (scratch: Scratch, agent: string) =>
  path.join(scratch.dataDir, agent, 'state.sqlite');

const losses: readonly [string, (file: string) => void, RegExp][] = [
  ['missing', (file) => fs.rmSync(file), /a2: no state in /],
  ['empty', (file) => fs.truncateSync(file), /a2: .* is damaged \(it is empty\)/],
  ['cut to half', (file) => fs.truncateSync(file, fs.statSync(file).size >> 1), /a2: /],
  ['garbage', (file) => fs.writeFileSync(file, 'x'.repeat(50_000)), /a2: .* is damaged/],
];

for (const [how, lose, says] of losses) {
  test(`query and export: report a state file that is ${how} and end with 4`, async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const config = await scratch.config(3);
    for (const agent of ['a1', 'a2', 'a3']) writeState(scratch, agent);
    const sql = 'SELECT url FROM pages ORDER BY url';
    const whole = await run('query', config, sql, '--format', 'csv');
    assert.equal(whole.code, 0, whole.stderr);
    lose(fileOf(scratch, 'a2'));
    const commands = [
      ['query', config, sql, '--format', 'csv'],
      ['export', config, '--format', 'urls'],
    ];
    for (const args of commands) {
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 4, `${args[0]}: ${stderr}`);
      assert.match(stderr, says);
      assert.match(stderr, /the output is not complete/);
      const live = stderr.includes('`query` also reads agents that run elsewhere');
      assert.equal(live, args[0] === 'export');
      assert.match(stderr, /^ {2}ubiring launch .*crawl\.json --repair$/m);
      for (const agent of ['a1', 'a3']) assert.match(stdout, new RegExp(`http://${agent}\\.test/`));
    }
    assert.equal((await run('audit', config)).code, 4);
  });
}

test('export: says that a graph has only first referrers unless all links are kept', async (t) => {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const config = await scratch.config(1);
  writeState(scratch, 'a1');
  for (const format of ['graph', 'urls']) {
    const { stderr } = await run('export', config, '--format', format);
    assert.equal(
      /only the first link found to each known URL/.test(stderr),
      format === 'graph',
      stderr,
    );
  }
  const state = openState({
    ...{ directory: path.join(scratch.dataDir, 'a1'), crawl: 'cli-test', agent: 'a1' },
  });
  assert.ok(state.ok);
  const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
  store.begin();
  store.saveLinks('http://a1.test/', ['http://a1.test/x']);
  store.commit(true);
  store.close();
  state.unlock();
  const { stdout, stderr } = await run('export', config, '--format', 'graph');
  assert.equal(stdout, 'http://a1.test/\thttp://a1.test/x\n');
  assert.doesNotMatch(stderr, /archive\.links/);
});
