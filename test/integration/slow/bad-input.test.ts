// Mistakes of a user before a crawl begins, with the real command. Each mistake gets the exit code
// of its kind and a message with its place and a remedy, and nothing is changed or deleted.
// The slower of these tests; the others are in `test/integration/bad-input.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { scratchOf } from '../bad-input-stage.ts';
import { run, start, until } from '../cli-process.ts';

/** Runs an agent until it has made its state file, and reads the file. */
async function stateFile(config: string, state: string): Promise<Buffer> {
  const agent = start(['agent', config, '--id', 'a1']);
  const pidFile = path.join(path.dirname(state), 'agent.pid');
  await until('the agent', () => fs.existsSync(pidFile));
  agent.child.kill('SIGTERM');
  const { code, stderr } = await agent.ended;
  assert.equal(code, 0, stderr);
  return fs.readFileSync(state);
}

/** Adds a join event to the state; another crawl may reuse a state without one. */
function hasJoined(state: string): void {
  const db = new Database(state);
  db.prepare("INSERT INTO event_rows (at, kind, detail) VALUES (1, 'join', '{}')").run();
  db.close();
}

describe('bad environment', { concurrency: 3 }, () => {
  test('a damaged state file ends the command with 4 and a remedy, and is not changed', async (t) => {
    const scratch = scratchOf(t);
    const config = await scratch.config(1);
    const state = path.join(scratch.dataDir, 'a1', 'state.sqlite');
    const whole = await stateFile(config, state);
    const cut = whole.subarray(0, Math.floor(whole.length / 2));
    const overwritten = Buffer.from(whole);
    overwritten.fill(0x5a, 4096, 12_288);
    for (const bytes of [Buffer.from('this is no database, but a text'), cut, overwritten]) {
      for (const suffix of ['', '-wal', '-shm']) fs.rmSync(`${state}${suffix}`, { force: true });
      fs.writeFileSync(state, bytes);
      const args = bytes === cut ? ['launch', config] : ['agent', config, '--id', 'a1'];
      const { code, stderr } = await run(...args);
      assert.equal(code, 4, stderr);
      assert.ok(stderr.includes(state), stderr);
      assert.match(stderr, /or move .* away and restart the agent/);
      assert.deepEqual(fs.readFileSync(state), bytes);
    }
  });

  test('a data directory of another crawl or another agent ends the command with 4', async (t) => {
    const scratch = scratchOf(t);
    const config = await scratch.config(2);
    const state = path.join(scratch.dataDir, 'a1', 'state.sqlite');
    await stateFile(config, state);
    hasJoined(state);
    const other = JSON.parse(fs.readFileSync(config, 'utf8'));
    const renamed = scratch.write('other.json', { ...other, name: 'another' });
    const crawl = await run('agent', renamed, '--id', 'a1');
    assert.equal(crawl.code, 4, crawl.stderr);
    assert.match(crawl.stderr, /belongs to crawl 'cli-test', not 'another'/);
    const launch = await run('launch', renamed);
    assert.equal(launch.code, 4, launch.stderr);
    assert.match(
      launch.stderr,
      /belongs to crawl 'cli-test', not 'another'; restore 'name: cli-test'/,
    );
    assert.doesNotMatch(launch.stderr, /agents?, state in/);
    assert.equal(fs.existsSync(path.join(scratch.dataDir, 'a2')), false);
    fs.renameSync(path.join(scratch.dataDir, 'a1'), path.join(scratch.dataDir, 'a2'));
    const agent = await run('agent', config, '--id', 'a2');
    assert.equal(agent.code, 4, agent.stderr);
    assert.match(agent.stderr, /belongs to agent 'a1', not 'a2'; .*to discard this state, move/);
    assert.doesNotMatch(agent.stderr, /--fresh/);
  });
});
