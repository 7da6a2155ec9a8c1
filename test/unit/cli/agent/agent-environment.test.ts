// How Node is started for an agent: settings of the user override the defaults.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  agentEnvironment,
  agentFlags,
  agentProgram,
} from '../../../../agent/cli/agent/agent-environment.ts';
import { readConfig } from '../../../../bench/launched.ts';

describe('the process of an agent', () => {
  const file = path.resolve(import.meta.dirname, '../../../../config/example.yaml');
  const start = { config: readConfig(file), id: 'a1' };
  const before = { ...process.env };

  beforeEach(() => {
    delete process.env.NODE_OPTIONS;
    delete process.env.MALLOC_ARENA_MAX;
  });

  afterEach(() => {
    // Another object in its place would not be the environment of the process.
    for (const name of ['NODE_OPTIONS', 'MALLOC_ARENA_MAX']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });

  it('has a small young generation, followed by the flags of this process', () => {
    assert.deepEqual(agentFlags(), ['--max-semi-space-size=16', ...process.execArgv]);
  });

  it('keeps the young generation that NODE_OPTIONS sets', () => {
    for (const chosen of ['--max-semi-space-size=32', '--max_semi_space_size=32']) {
      process.env.NODE_OPTIONS = chosen;
      assert.deepEqual(agentFlags(), process.execArgv);
    }
  });

  it('has two malloc arenas, or the number that the environment sets', () => {
    assert.equal(agentEnvironment().MALLOC_ARENA_MAX, '2');
    process.env.MALLOC_ARENA_MAX = '8';
    assert.equal(agentEnvironment().MALLOC_ARENA_MAX, '8');
  });

  it('shows the config, the agent and the data directory in its command line', () => {
    const { line } = agentProgram(start);
    const { file, agent } = start.config;
    assert.deepEqual(line.slice(-6), ['agent', file, '--id', 'a1', '--data', agent.dataDir]);
  });

  it('names the command to use instead if stdin holds no config', () => {
    const { line } = agentProgram(start);
    for (const input of ['', '{', 'null', '{}']) {
      const { status, stderr } = spawnSync(process.execPath, line, { input, encoding: 'utf8' });
      assert.equal(status, 2, stderr);
      assert.match(stderr, /this is for launch, .* use ubiring agent/);
    }
  });
});
