// A launch passes its parsed config to each agent on stdin. The seeds of seed files are not passed;
// the agent reads the files again.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { agentProgram } from '../../../../agent/cli/agent/agent-environment.ts';
import type { FromAgent } from '../../../../agent/cli/agent/launch-messages.ts';
import { inputOf, startOf } from '../../../../agent/cli/agent/start-input.ts';
import { readConfig } from '../../../../bench/launched.ts';

describe('the input of an agent on stdin', () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-start-'));
  const seedFile = path.join(directory, 'more.txt');
  after(() => fs.rmSync(directory, { recursive: true, force: true }));

  function configWith(more: object) {
    const file = path.join(directory, 'crawl.json');
    const agents = [{ id: 'ä1', listen: 'tcp://127.0.0.1:7101' }];
    fs.writeFileSync(file, JSON.stringify({ cluster: { agents, backups: 0 }, ...more }));
    return readConfig(file);
  }

  it('preserves the whole config', () => {
    const example = path.resolve(import.meta.dirname, '../../../../config/example.yaml');
    for (const config of [
      readConfig(example),
      configWith({
        name: 'näme 😀 \u2028',
        seeds: ['http://h.example/a b', ' http://i.example/ '],
        scope: { hosts: ['*'], include: ['[\\x00-\\x1f]|"\\\\'] },
        politeness: { hosts: { 'h.example': { hostDelayMs: '2s' } } },
        limits: { pages: 3 },
      }),
    ]) {
      const start = { config, id: 'a1', refresh: 7 };
      assert.deepEqual(startOf(inputOf(start)), { ok: true, start });
    }
  });

  it('stays short with a long seed file, which the agent reads again', () => {
    const lines = Array.from({ length: 20_000 }, (_, k) => `http://h${k}.example/`);
    fs.writeFileSync(seedFile, lines.join('\n'));
    const start = {
      config: configWith({ seeds: ['http://first.example/'], seedFiles: ['more.txt'] }),
      id: 'a1',
    };
    assert.equal(start.config.seeds.length, 20_001);
    // If the config names no scope, the hosts of the seeds are the scope.
    const input = inputOf({ ...start, config: { ...start.config, scope: scopeOf(['*']) } });
    assert.ok(input.length < 10_000, `${input.length}`);
    const read = startOf(input);
    assert.deepEqual(read.ok && read.start.config.seeds, start.config.seeds);
  });

  it('is refused with file and remedy if a seed file was removed or became invalid', () => {
    fs.writeFileSync(seedFile, 'http://a.example/');
    const start = { config: configWith({ seedFiles: ['more.txt'] }), id: 'a1' };
    const input = inputOf(start);
    fs.writeFileSync(seedFile, 'a.example');
    const wrong = startOf(input);
    assert.ok(!wrong.ok);
    assert.match(wrong.problems[0]!.message, /seed "a.example" is not an absolute URL/);
    fs.rmSync(seedFile);
    const gone = startOf(input);
    assert.ok(!gone.ok);
    const [{ file, message } = { file: '', message: '' }] = gone.problems;
    assert.deepEqual([file, message], [seedFile, 'does not exist']);

    const { line } = agentProgram(start);
    const { status, stderr } = spawnSync(process.execPath, line, { input, encoding: 'utf8' });
    assert.equal(status, 4, stderr);
    assert.match(stderr, /more\.txt: does not exist; check the path/);
  });

  it('is refused by a message to the launch, and the agent itself prints nothing', async () => {
    fs.writeFileSync(seedFile, 'http://a.example/');
    const start = { config: configWith({ seedFiles: ['more.txt'] }), id: 'a1' };
    const input = inputOf(start);
    fs.rmSync(seedFile);
    const { line } = agentProgram(start);
    const child = spawn(process.execPath, line, { stdio: ['pipe', 'ignore', 'pipe', 'ipc'] });
    const words: FromAgent[] = [];
    child.on('message', (message: FromAgent) => words.push(message));
    child.stdin!.end(input);
    const ended = once(child, 'close');
    assert.equal(await text(child.stderr!), '');
    await ended;
    const [{ type, reason } = { type: '', reason: '' }] = words.filter((w) => w.type === 'ended');
    assert.equal(type, 'ended');
    assert.match(reason, /more\.txt: does not exist; check the path/);
  });

  function scopeOf(hosts: readonly string[]) {
    return { hosts, include: [], exclude: [] };
  }
});
