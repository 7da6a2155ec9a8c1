// Tests the command as a user runs it: as a process that reads standard input.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

const main = path.resolve(import.meta.dirname, '../../../../agent/main.ts');

async function run(args: readonly string[], input: string) {
  const child = spawn(process.execPath, [main, 'check', ...args]);
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { stdout, stderr, code: code as number };
}

test('check: answers each line in order, reports errors in place, and exits with 0', async () => {
  const input = '{"in":"http://A/%7e"}\nnonsense\n\n{"in":"ftp://a/","id":"kept silent"}';
  const { stdout, stderr, code } = await run(['url'], input);
  const answers = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(answers.length, 4);
  assert.deepEqual(answers[0], { url: 'http://a/~', reason: null });
  assert.match(answers[1].error, /not JSON/);
  assert.match(answers[2].error, /not JSON/);
  assert.deepEqual(answers[3], { url: null, reason: 'scheme' });
  assert.match(stderr, /2 of 4 lines/);
  assert.equal(code, 0);
});

test('check: without input, prints nothing and exits with 0', async () => {
  assert.deepEqual(await run(['robots'], ''), { stdout: '', stderr: '', code: 0 });
});

test('check: exits with 2 on an unknown subject, and with 4 on an invalid config', async () => {
  assert.equal((await run(['weather'], '')).code, 2);
  assert.equal((await run([], '')).code, 2);
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-check-'));
  const file = path.join(directory, 'c.yaml');
  fs.writeFileSync(file, 'seeds: [http://h/]\nurls: { dropTrackin: true }\n');
  assert.equal((await run(['url', '--config', file], '')).code, 4);
  fs.writeFileSync(file, 'seeds: [http://h/]\nurls: { dropTracking: true }\n');
  const { stdout } = await run(['url', '--config', file], '{"in":"http://h/?gclid=1"}\n');
  assert.equal(stdout, '{"url":"http://h/","reason":null}\n');
  fs.rmSync(directory, { recursive: true });
});

test('check: exits with 0 if the reader closes stdout before a long input ends', async () => {
  const child = spawn(process.execPath, [main, 'check', 'url']);
  child.stdin.on('error', () => {});
  child.stdin.write('{"in":"http://h/"}\n'.repeat(200_000));
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const [code] = await once(child, 'close');
  assert.equal(code, 0);
});
