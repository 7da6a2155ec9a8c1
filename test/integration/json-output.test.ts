// With --json stdout is always JSON, even if no agent runs or the command fails. Also tests how
// seed and kill report refusals.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { run, Scratch } from './cli-process.ts';

test('--json prints JSON even if no agent runs or the command fails', async (context) => {
  const scratch = new Scratch();
  context.after(() => scratch.clean());
  const config = await scratch.config(2);
  const wrong = scratch.write('wrong.json', { cluster: { agents: 0 } });
  for (const [code, ...words] of [
    [1, 'status', config],
    [1, 'stop', config],
    [1, 'pause', config],
    [1, 'block', config, 'example.org'],
    [1, 'seed', config, 'https://example.org/'],
    [1, 'kill', config, 'a1'],
    [2, 'kill', config, 'a9'],
    [1, 'query', config, 'SELECT 1'],
    [4, 'audit', config],
    [4, 'explain', wrong, 'https://example.org/'],
    [4, 'config', 'check', wrong],
    [4, 'ring', path.join(scratch.directory, 'missing.yaml')],
    [2, 'status'],
  ] as const) {
    const ended = await run(...words, '--json');
    assert.equal(ended.code, code, `${words.join(' ')}: ${ended.stderr}`);
    assert.doesNotThrow(() => JSON.parse(ended.stdout), `${words.join(' ')}: ${ended.stdout}`);
  }
  const { stdout, stderr } = await run('stop', config, '--json');
  const { error } = JSON.parse(stdout) as { error: Readonly<Record<string, unknown>> };
  assert.equal(error.code, 1);
  assert.match(String(error.cause), /nothing listens there\nno agent answers/);
  assert.equal(error.remedy, 'there is nothing to stop');
  assert.equal(`${error.message}\n`, stderr);
});

test('seed refuses invalid and out-of-scope URLs even if no agent runs', async (context) => {
  const scratch = new Scratch();
  context.after(() => scratch.clean());
  const config = await scratch.config(1, { scope: { hosts: ['example.org'] } });
  const nonsense = await run('seed', config, 'mailto:x@example.org', 'http://elsewhere.test/');
  assert.equal(nonsense.code, 1, nonsense.stderr);
  assert.match(
    nonsense.stdout,
    /^mailto:x@example\.org: refused: .*\n.*elsewhere.*: refused: out of scope: .*; change scope and/,
  );
  assert.doesNotMatch(nonsense.stderr, /add the/);
  const long = `http://example.org/?${'q'.repeat(8000)}`;
  const tooLong = await run('seed', config, long, '--json');
  assert.equal(tooLong.code, 1, tooLong.stderr);
  const why = 'longer than 8000 characters; write a shorter URL';
  assert.deepEqual(JSON.parse(tooLong.stdout), { [long]: { refused: why } });
  const mixed = await run('seed', config, 'http://elsewhere.test/', 'http://example.org/new');
  assert.equal(mixed.code, 1, mixed.stderr);
  assert.match(mixed.stderr, /elsewhere\.test\/: refused[\s\S]*add the other URLs to the seeds/);
});
