// What an operator says to a crawl that runs, by the command line and judged by the web server's
// log: pause, resume, block, delay, seed, explain; and export and explain once nothing runs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { run, Scratch } from './cli-process.ts';

const asNobody = path.resolve(import.meta.dirname, 'as-nobody.ts');
const skip = process.getuid?.() === 0 ? false : 'only root can run a command as another user';

describe('operator', { concurrency: 1 }, () => {
  test("an order is not looked for in vain in another user's files", { skip }, async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const config = await scratch.config(1);
    const directory = path.join(scratch.dataDir, 'a1');
    fs.mkdirSync(directory, { recursive: true });
    fs.chmodSync(directory, 0o700);
    fs.chmodSync(scratch.directory, 0o755);
    const args = JSON.stringify([config, {}]);
    const resume = [asNobody, 'commands/directive-commands.ts', 'resume', args];
    const { status, stderr } = spawnSync(process.execPath, resume, { encoding: 'utf8' });
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
