// A member with another config and its own data directory: its pages are not part of the results
// until its directory is brought here, and the commands with the first config say so.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { startWeb } from '../../web/server.ts';
import { call, run, Scratch, start, until } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';

const sql = 'SELECT url, status FROM pages ORDER BY 1';

/** Second bytes of the loopback addresses; the web of no other test uses them. */
const nets = [73, 74] as const;

/** Pages in the views of a state file, which show its own hosts; 0 while it is not readable. */
function pagesIn(file: string): number {
  try {
    const db = new Database(file, { readonly: true, fileMustExist: true });
    const [count] = db.prepare('SELECT count(*) FROM pages').pluck().all();
    db.close();
    return Number(count);
  } catch {
    return 0;
  }
}

/** Completes a crawl of a1 and a2; the config has only a1, and a2's state is elsewhere. */
async function completed(context: TestContext, backups: 0 | 1) {
  const scratch = new Scratch();
  const gate = await startGate();
  const web = await startWeb({
    ...{ hosts: 8, pages: 6, port: 0, net: nets[backups], sparse: true },
    shares: { flaky: 0, slow: 0 },
  });
  context.after(async () => {
    scratch.clean();
    await Promise.all([gate.stop(), web.stop()]);
  });
  const config = await scratch.config(2, {
    seeds: [web.seed, gate.seed],
    politeness: { hostDelayMs: 10 },
  });
  const all = JSON.parse(fs.readFileSync(config, 'utf8'));
  all.cluster.backups = backups;
  const [a1, a2] = all.cluster.agents;
  const few = { ...all, cluster: { ...all.cluster, agents: [a1] } };
  // The capacity makes a2 the owner of most hosts.
  const agents = [a1, { ...a2, capacity: 20 }];
  const more = { ...all, cluster: { ...all.cluster, agents } };
  more.agent = { ...all.agent, dataDir: 'elsewhere' };
  scratch.write('crawl.json', few);
  const launch = start(['launch', config]);
  await until('a1', () => scratch.pid('a1') !== null);
  const outside = start(['agent', scratch.write('more.json', more), '--id', 'a2']);
  const directory = path.join(scratch.directory, 'elsewhere', 'a2');
  await until('pages of a2', () => pagesIn(path.join(directory, 'state.sqlite')) > 20);
  gate.open();
  const [launched, left] = await Promise.all([launch.ended, outside.ended]);
  assert.deepEqual([launched.code, left.code], [0, 0], launched.stderr + left.stderr);
  const bring = () => fs.cpSync(directory, path.join(scratch.dataDir, 'a2'), { recursive: true });
  return { scratch, config, launched, bring, asked: () => web.requests().length };
}

test('launch refuses a repair while the state of an outside agent without copies is missing', async (context) => {
  const { config, launched, bring, asked } = await completed(context, 0);
  assert.match(launched.stdout, /a2: no readable state in .*are not counted here/);
  const requests = asked();
  for (const args of [
    ['query', config, sql],
    ['audit', config],
    ['export', config],
  ]) {
    const { code, stderr } = await run(...args);
    assert.equal(code, 4, stderr);
    assert.match(stderr, /no other agent has copies/);
    assert.doesNotMatch(stderr, /--repair/);
  }
  for (const args of [
    ['launch', config],
    ['launch', config, '--repair'],
    ['launch', config, '--refresh'],
    ['agent', config, '--id', 'a1'],
  ]) {
    const { code, stderr } = await call(args);
    assert.equal(code, 4, stderr);
    assert.match(
      stderr,
      /a2: .* is missing\nnot in the config, .*: a2;\ncopy the directory of each into /,
    );
    assert.match(stderr, /no other agent has copies/);
  }
  assert.equal(asked(), requests);
  bring();
  const again = await call(['launch', config]);
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stderr, /the crawl is complete already/);
  const audit = await run('audit', config);
  assert.equal(audit.code, 0, audit.stdout + audit.stderr);
  assert.equal((await run('query', config, sql)).code, 0);
});

test('launch restores the pages of an outside agent from copies', async (context) => {
  const { config, launched, bring, asked } = await completed(context, 1);
  assert.match(launched.stdout, /a2: no readable state in .*are not counted here/);
  const requests = asked();
  assert.equal((await run('query', config, sql)).code, 4);
  const { code, stderr } = await run('launch', config);
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /a2: state missing or damaged in .*; lost pages are restored from the copies/,
  );
  assert.equal(asked(), requests);
  const audit = await run('audit', config);
  assert.equal(audit.code, 0, audit.stdout + audit.stderr);
  assert.match(audit.stdout, /the crawl is complete; in view: a1$/m);
  const restored = await run('query', config, sql);
  assert.equal(restored.code, 0, restored.stderr);
  bring();
  const withIt = await run('query', config, sql);
  assert.equal(withIt.stdout, restored.stdout);
});
