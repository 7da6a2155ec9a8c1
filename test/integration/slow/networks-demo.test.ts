// `npm run demo:networks` shows two networks that share a crawl, and leaves nothing behind.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { withoutRedis } from '../../contract/networks/redis-process.ts';
import { outputOf, Scratch } from '../cli-process.ts';

const program = path.resolve(import.meta.dirname, '../../web/networks-demo.ts');

/** Compiled sources, which all processes of the demo share; not in the directory that must be empty. */
const NODE_COMPILE_CACHE =
  process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache');

/** Runs the demo with a directory of its own for temporary files. */
async function demo(
  t: TestContext,
  environment: NodeJS.ProcessEnv,
  during: (child: ChildProcess, said: () => string) => Promise<void> = async () => {},
) {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, TMPDIR: scratch.directory, NODE_COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = outputOf(child);
  const ended = once(child, 'close') as Promise<[number | null]>;
  await during(child, () => said.stdout);
  const [code] = await ended;
  // Its processes have their files here.
  assert.deepEqual(fs.readdirSync(scratch.directory), []);
  return { code, ...said };
}

test('the demo of networks: every page once, by both', { skip: withoutRedis }, async (t) => {
  const { code, stdout, stderr } = await demo(t, {});
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^ +\d+ s {2}berlin \d+ pages {2}paris \d+ pages$/m);
  for (const name of ['berlin', 'paris']) {
    assert.match(stdout, new RegExp(`network ${name} +[1-9]\\d* pages, complete$`, 'm'));
  }
  assert.match(stdout, /required URLs fetched {5}(\d+) of \1 /);
  assert.match(stdout, /fetched again {13}0$/m);
});

test('the demo of networks ends early on a signal', { skip: withoutRedis }, async (t) => {
  const { code, stdout } = await demo(t, {}, async (child, said) => {
    while (!/berlin [1-9]/.test(said())) await once(child.stdout!, 'data');
    child.kill('SIGTERM');
  });
  assert.equal(code, 1);
  assert.match(stdout, /network berlin +\d+ pages, exit code 11$/m);
});

test('the demo of networks says what to install', async (t) => {
  const { code, stdout, stderr } = await demo(t, { PATH: '/nowhere' });
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(
    stderr,
    /needs redis-server or valkey-server, and neither is installed\. Install one:/,
  );
  assert.match(stderr, /apt install redis-server/);
});
