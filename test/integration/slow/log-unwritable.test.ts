// An unwritable log does not delay an exit: with stderr on a full disk or in a pipe without a
// reader, a complete or stopped crawl ends as usual. A launch kills an agent that does not exit.
// The slower of these tests; the others are in `test/integration/log-unwritable.test.ts`.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Scratch, start, until } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';
import { main, skip } from '../log-unwritable-stage.ts';

/** Far longer than a normal exit; a process that hangs takes longer. */
const endMsMax = 60_000;

async function stage(context: TestContext) {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const config = await scratch.config(1, { seeds: [gate.seed] });
  const isComplete = () => fs.existsSync(path.join(scratch.dataDir, 'complete.json'));
  const running = () => scratch.pid('a1') !== null;
  return { scratch, gate, config, isComplete, running };
}

/** Starts a command with this descriptor as stderr. */
function startOn(stderr: number, args: readonly string[]) {
  return startWith(['ignore', 'ignore', stderr], args);
}

function startWith(stdio: ('ignore' | number)[], args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio });
  const limit = setTimeout(() => child.kill('SIGKILL'), endMsMax);
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      clearTimeout(limit);
      resolve(code);
    });
  });
  return { child, ended };
}

/** Kinds of stderr that accept no bytes. */
const places: readonly (readonly [name: string, open: (scratch: Scratch) => number])[] = [
  ['a full disk', () => fs.openSync('/dev/full', 'w')],
  ['a full pipe without a reader', (scratch) => fullPipe(path.join(scratch.directory, 'pipe'))],
];

function fullPipe(file: string): number {
  execFileSync('mkfifo', [file]);
  const { O_RDWR, O_NONBLOCK } = fs.constants;
  const both = fs.openSync(file, O_RDWR | O_NONBLOCK);
  try {
    for (;;) fs.writeSync(both, Buffer.alloc(4096));
  } catch {
    // The pipe is full. The test keeps its reading end open.
  }
  return fs.openSync(file, 'w');
}

describe('unwritable stderr', { skip, concurrency: 2 }, () => {
  for (const [name, open] of places) {
    test(`${name}: a launch ends with 0 and the crawl is recorded as complete`, async (context) => {
      const { scratch, gate, config, isComplete } = await stage(context);
      gate.open();
      const launch = startOn(open(scratch), ['launch', config]);
      assert.equal(await launch.ended, 0);
      assert.ok(isComplete());
    });

    test(`${name}: a launch that is stopped ends with 11`, async (context) => {
      const { scratch, config, running } = await stage(context);
      const launch = startOn(open(scratch), ['launch', config]);
      await until('the agent', running);
      launch.child.kill('SIGTERM');
      assert.equal(await launch.ended, 11);
    });

    test(`${name}: an agent started by hand leaves on SIGTERM and ends with 0`, async (context) => {
      const { scratch, config, running } = await stage(context);
      const agent = startOn(open(scratch), ['agent', config, '--id', 'a1']);
      await until('the agent', running);
      agent.child.kill('SIGTERM');
      assert.equal(await agent.ended, 0);
    });
  }
});

test('launch: kills an agent that has not exited 30 s after its last message', async (context) => {
  const { scratch, gate, config, isComplete } = await stage(context);
  // An agent that hangs during exit, as with a disk that does not respond.
  const hang = scratch.write(
    'hang.mjs',
    `if (process.argv.includes('a1') && process.argv[1].includes('launched-agent')) {
      process.on('exit', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    }`,
  );
  gate.open();
  const launch = start(['launch', config], { NODE_OPTIONS: `--import=${hang}` });
  const { code, stdout, stderr } = await launch.ended;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /a1 \(process \d+\) should have ended 30 s ago: killed; its state is kept/);
  assert.match(stdout, /^a1 .* complete$/m);
  assert.ok(isComplete());
});

describe('stdout on a full disk', { skip }, () => {
  test('a launch that completes the crawl ends with 0', async (context) => {
    const { gate, config } = await stage(context);
    gate.open();
    const stdout = fs.openSync('/dev/full', 'w');
    const launch = startWith(['ignore', stdout, 'ignore'], ['launch', config]);
    assert.equal(await launch.ended, 0);
  });
});
