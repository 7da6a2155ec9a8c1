// Commands of an operator to a running crawl, judged by the log of the web server: pause, resume,
// block, delay, seed and explain. Also export and explain after the crawl.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { lockDirectory } from '../../agent/storage/file/database.ts';
import { run, Scratch } from './cli-process.ts';

const asNobodyFile = path.resolve(import.meta.dirname, 'as-nobody.ts');
const skip = process.getuid?.() === 0 ? false : 'only root can run a command as another user';

describe('operator', { concurrency: 1 }, () => {
  test('commands report missing permission for the files of another user', { skip }, async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const config = await scratch.config(1);
    const directory = path.join(scratch.dataDir, 'a1');
    fs.mkdirSync(directory, { recursive: true });
    fs.chmodSync(directory, 0o700);
    fs.chmodSync(scratch.directory, 0o755);
    const asNobody = (module: string, name: string, args: readonly unknown[] = [config, {}]) => {
      const command = [asNobodyFile, module, name, JSON.stringify(args)];
      return spawnSync(process.execPath, command, { encoding: 'utf8' });
    };
    const { status, stderr } = asNobody('commands/directive-commands.ts', 'resume');
    assert.equal(status, 4, stderr);
    assert.match(
      stderr,
      /a1: permission missing: .*data\/a1 belongs to user 0; run the command as/,
    );
    // As it is made by a launch.
    fs.chmodSync(scratch.dataDir, 0o700);
    for (const [module, name, args] of [
      ['launch/launch-command.ts', 'launch', [config, {}]],
      ['status/status-command.ts', 'status', [config, {}]],
      ['audit/audit-command.ts', 'audit', [config, [], {}]],
    ] as const) {
      const denied = asNobody(module, name, args);
      assert.equal(denied.status, 4, denied.stderr);
      assert.match(denied.stderr, /permission missing: .*data belongs to user 0; run the/, name);
    }
  });

  test('pause and resume end with 1 and say so if the crawl does not run', async (t) => {
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

  test('status names the agents that start, or do not answer', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const config = await scratch.config(2);
    const directory = path.join(scratch.dataDir, 'a2');
    fs.mkdirSync(directory, { recursive: true });
    const lock = lockDirectory(directory);
    assert.ok(lock.ok);
    const { code, stderr } = await run('status', config);
    lock.unlock();
    assert.equal(code, 1);
    assert.match(stderr, /^a2: an agent starts, ends or does not answer; try again$/m);
  });

  test('a directive of an unknown agent ends with 2, also to revoke it', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const config = await scratch.config(2);
    for (const [verb, ...number] of [['drain'], ['undrain'], ['capacity', 'default']] as const) {
      const { code, stderr } = await run(verb, config, 'a9', ...number);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /^no agent a9 in .*crawl\.json, known: a1, a2; check the ID\n$/);
    }
  });
});
