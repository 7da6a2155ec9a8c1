// What an operator says to a crawl that runs, by the command line and judged by the web server's
// log: pause, resume, block, delay, seed, explain; and export and explain once nothing runs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { run, Scratch } from './cli-process.ts';
import { crawlOf, ids, linesOf } from './operator-stage.ts';

const main = path.resolve(import.meta.dirname, '../../agent/main.ts');
const skip = process.getuid?.() === 0 ? false : 'only root can run a command as another user';

describe('operator', { concurrency: 1 }, () => {
  test('pause stops the requests of all, resume lets them go on, and the crawl is whole', async (t) => {
    const { web, gate, config, launch, served } = await crawlOf(t, 71);
    const paused = await run('pause', config, '--json');
    assert.equal(paused.code, 0, paused.stderr);
    assert.deepEqual(
      JSON.parse(paused.stdout),
      Object.fromEntries(ids.map((id) => [id, 'applied'])),
    );
    gate.open();
    // What was open may still end; then nothing comes for many delays.
    await pause(300);
    const before = web.requests().length;
    await pause(1500);
    assert.equal(web.requests().length, before);
    assert.equal(launch.child.exitCode, null);
    const resumed = await run('resume', config);
    assert.equal(resumed.code, 0, resumed.stderr);
    assert.deepEqual(
      linesOf(resumed.stdout).sort(),
      ids.map((id) => `${id}: applied`),
    );
    await served(1);
    assert.equal((await launch.ended).code, 0);
  });

  test("an order is not looked for in vain in another user's files", { skip }, async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const config = await scratch.config(1);
    const directory = path.join(scratch.dataDir, 'a1');
    fs.mkdirSync(directory, { recursive: true });
    fs.chmodSync(directory, 0o700);
    fs.chmodSync(scratch.directory, 0o755);
    const nobody = { uid: 65_534, gid: 65_534, encoding: 'utf8' } as const;
    const { status, stderr } = spawnSync(process.execPath, [main, 'resume', config], nobody);
    assert.equal(status, 4, stderr);
    assert.match(stderr, /a1: permission missing: .*data\/a1 is of user 0; run the command as/);
  });

  test('an order to a crawl that does not run says so', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const config = await scratch.config(2);
    for (const verb of ['pause', 'resume']) {
      const { code, stderr } = await run(verb, config);
      assert.equal(code, 1);
      assert.match(stderr, /no agent accepted the directive/);
    }
    assert.equal((await run('block', config, 'a b')).code, 2);
  });
});
