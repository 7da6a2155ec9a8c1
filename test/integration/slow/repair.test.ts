// A complete crawl loses the state file of an agent: the next start restores it from the copies of
// the other agents, sends no request and ends.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { type RunningWeb, startWeb } from '../../web/server.ts';
import { call, run, Scratch, start } from '../cli-process.ts';

/** Second byte of the loopback addresses; the web of no other test uses it. */
const net = 66;

const damages: readonly [string, (directory: string) => void][] = [
  ['deleted with its directory', (directory) => fs.rmSync(directory, { recursive: true })],
  ['overwritten in the middle', (directory) => overwrite(fileIn(directory))],
];

const fileIn = (directory: string) => path.join(directory, 'state.sqlite');

function cut(file: string, share: number): void {
  fs.truncateSync(file, Math.floor(fs.statSync(file).size * share));
}

function overwrite(file: string): void {
  const handle = fs.openSync(file, 'r+');
  const { size } = fs.statSync(file);
  const bytes = Buffer.alloc(Math.floor(size / 2), 0xa5);
  fs.writeSync(handle, bytes, 0, bytes.length, Math.floor(size / 4));
  fs.closeSync(handle);
}

describe('a complete crawl', () => {
  const scratch = new Scratch();
  let web: RunningWeb;
  let config: string;
  before(async () => {
    web = await startWeb({
      ...{ hosts: 8, pages: 8, port: 0, net, sparse: true, shares: { flaky: 0, slow: 0 } },
    });
    config = await scratch.config(3, { seeds: [web.seed], politeness: { hostDelayMs: 10 } });
    const { code, stderr } = await run('launch', config);
    assert.equal(code, 0, stderr);
  });
  after(async () => {
    scratch.clean();
    await web.stop();
  });

  /** A copy of the data directory, which the test may damage. */
  function copied(): string {
    const data = path.join(scratch.directory, 'spoilt');
    fs.rmSync(data, { recursive: true, force: true });
    fs.cpSync(scratch.dataDir, data, { recursive: true });
    return data;
  }

  async function pagesIn(data: string): Promise<string> {
    const sql = 'SELECT url, status FROM pages ORDER BY 1';
    const { code, stdout, stderr } = await run('query', config, sql, '--json', '--data', data);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  /** Asserts that the state is restored without a request, and that the crawl is complete. */
  async function assertRestored(data: string, requests: number): Promise<void> {
    const audit = await run('audit', config, '--data', data);
    assert.equal(audit.code, 0, audit.stdout + audit.stderr);
    assert.match(audit.stdout, /the crawl is complete; in view: a1, a2, a3/);
    assert.equal(await pagesIn(data), await pagesIn(scratch.dataDir));
    assert.equal(web.requests().length, requests);
    // This launch starts no process, so it is called in this one.
    const again = await call(['launch', config, '--data', data]);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /the crawl is complete already/);
  }

  for (const [how, damage] of damages) {
    test(`launch restores a state file that is ${how}`, async () => {
      const data = copied();
      damage(path.join(data, 'a2'));
      const requests = web.requests().length;
      assert.equal((await run('audit', config, '--data', data)).code, 4);
      const { code, stderr } = await run('launch', config, '--data', data);
      assert.equal(code, 0, stderr);
      assert.match(
        stderr,
        /a2: state missing or damaged in .*; lost pages are restored from the copies/,
      );
      const said = stderr.split(fileIn(path.join(data, 'a2'))).length - 1;
      assert.ok(said <= 1, `reported once: ${stderr}`);
      await assertRestored(data, requests);
    });
  }

  test('agents started by hand restore a deleted state file', async () => {
    const data = copied();
    // Without the directory, a1 takes the state to be on another machine.
    fs.rmSync(fileIn(path.join(data, 'a2')));
    const requests = web.requests().length;
    const agents = ['a2', 'a1', 'a3'].map((id) =>
      start(['agent', config, '--id', id, '--data', data]),
    );
    for (const { code, stderr } of await Promise.all(agents.map(({ ended }) => ended))) {
      assert.equal(code, 0, stderr);
      assert.ok(stderr.split('starts empty').length <= 2, `reported once: ${stderr}`);
    }
    await assertRestored(data, requests);
  });

  test('status ends with 4 and names a remedy if a state file is missing or damaged', async () => {
    const whole = await run('status', config);
    assert.deepEqual([whole.code, whole.stdout.includes('a1, a2, a3')], [0, true], whole.stderr);
    for (const spoil of [
      (data: string) => fs.rmSync(path.join(data, 'a2'), { recursive: true }),
      (data: string) => fs.rmSync(fileIn(path.join(data, 'a2'))),
      (data: string) => fs.writeFileSync(fileIn(path.join(data, 'a2')), 'no database '.repeat(900)),
    ]) {
      const data = copied();
      spoil(data);
      const { code, stdout, stderr } = await run('status', config, '--data', data);
      assert.equal(code, 4, stderr);
      assert.match(stdout, /the crawl was completed at/);
      assert.match(
        stderr,
        /^a2: .*a2\/state\.sqlite is (missing|gone|damaged|not a readable SQLite database)[\s\S]*launch .* --repair/m,
      );
      const json = await run('status', config, '--data', data, '--json');
      const { unsound } = JSON.parse(json.stdout) as { unsound: { agent: string }[] };
      assert.deepEqual([json.code, unsound.map(({ agent }) => agent)], [4, ['a2']]);
    }
  });

  test('launch --repair runs and ends with 0 even if nothing is lost', async () => {
    const data = copied();
    const requests = web.requests().length;
    const { code, stderr } = await run('launch', config, '--repair', '--data', data);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /repair: the crawl is complete; all state files are read whole/);
    await assertRestored(data, requests);
  });

  test('launch requires --repair if more state files are lost than copies exist', async () => {
    const data = copied();
    cut(fileIn(path.join(data, 'a2')), 0.5);
    fs.rmSync(fileIn(path.join(data, 'a3')));
    const refused = await call(['launch', config, '--data', data]);
    assert.equal(refused.code, 4, refused.stderr);
    assert.match(refused.stderr, /2 states are missing or damaged[\s\S]*launch .* --repair/);
    assert.ok(fs.existsSync(path.join(data, 'complete.json')));
    const repaired = await run('launch', config, '--repair', '--data', data);
    assert.equal(repaired.code, 0, repaired.stderr);
    const audit = await run('audit', config, '--data', data);
    assert.equal(audit.code, 0, audit.stdout + audit.stderr);
  });

  test('launch requires it too if the crawl was not complete, unless no state is left', async () => {
    const data = copied();
    fs.rmSync(path.join(data, 'complete.json'));
    fs.writeFileSync(fileIn(path.join(data, 'a2')), 'not a state');
    fs.rmSync(fileIn(path.join(data, 'a3')));
    const refused = await call(['launch', config, '--data', data]);
    assert.equal(refused.code, 4, refused.stderr);
    assert.match(refused.stderr, /^a2: .*\na3: .* is missing\n[\s\S]*launch .* --repair/m);
    const repaired = await run('launch', config, '--repair', '--data', data);
    assert.equal(repaired.code, 0, repaired.stderr);
    fs.rmSync(path.join(data, 'complete.json'));
    for (const agent of ['a1', 'a2', 'a3']) fs.rmSync(fileIn(path.join(data, agent)));
    const begun = await run('launch', config, '--data', data);
    assert.equal(begun.code, 0, begun.stderr);
  });

  test('launch continues the crawl if a state file is older than the completion record', async () => {
    const data = copied();
    const file = path.join(data, 'complete.json');
    const note = JSON.parse(fs.readFileSync(file, 'utf8'));
    const { pages } = note.states.a2;
    note.states.a2.pages++;
    fs.writeFileSync(file, JSON.stringify(note));
    const { code, stderr } = await run('launch', config, '--data', data);
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      new RegExp(`a2: its state has ${pages} pages and 0 queued URLs; at the end`),
    );
    // The next round reads all pages anew, because they may link to URLs that are lost.
    assert.match(
      stderr,
      /URLs found after that older state may be lost; after the end, --refresh finds those that pages/,
    );
    for (const agent of ['a1', 'a2', 'a3']) {
      const db = new Database(fileIn(path.join(data, agent)), { readonly: true });
      const rules = db.prepare("SELECT value FROM meta WHERE key = 'link_rules'").pluck().get();
      db.close();
      assert.equal(rules, 'several');
    }
  });
});

test('without copies launch does not repeat the crawl after the loss of a state file', async (context) => {
  const scratch = new Scratch();
  const web = await startWeb({ hosts: 2, pages: 3, port: 0, net: net + 1, sparse: true });
  context.after(async () => {
    scratch.clean();
    await web.stop();
  });
  const config = await scratch.config(1, {
    seeds: [web.seed],
    politeness: { hostDelayMs: 10 },
    cluster: { agents: 1 },
  });
  const first = await run('launch', config);
  assert.equal(first.code, 0, first.stderr);
  const requests = web.requests().length;
  fs.rmSync(fileIn(path.join(scratch.dataDir, 'a1')));
  for (const attempt of [
    () => call(['launch', config]),
    () => call(['launch', config, '--repair']),
    () => run('agent', config, '--id', 'a1'),
  ]) {
    const { code, stderr } = await attempt();
    assert.equal(code, 4, stderr);
    assert.match(stderr, /a1: .* is missing\n[\s\S]*no other agent has copies/);
    assert.match(stderr, /launch .*crawl\.json --fresh/);
  }
  assert.equal(web.requests().length, requests);
  const fresh = await run('launch', config, '--fresh');
  assert.equal(fresh.code, 0, fresh.stderr);
});
