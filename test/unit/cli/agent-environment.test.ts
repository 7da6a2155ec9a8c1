// How Node is started for an agent: what a user says wins over what is chosen here.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { agentEnvironment, agentFlags } from '../../../agent/cli/agent-environment.ts';

describe('the Node of an agent', () => {
  const before = { ...process.env };

  beforeEach(() => {
    delete process.env.NODE_OPTIONS;
    delete process.env.MALLOC_ARENA_MAX;
  });

  afterEach(() => {
    process.env = { ...before };
  });

  it('has a small young generation, and the flags of this process after it', () => {
    assert.deepEqual(agentFlags(), ['--max-semi-space-size=16', ...process.execArgv]);
  });

  it('has the young generation that NODE_OPTIONS asks for', () => {
    for (const chosen of ['--max-semi-space-size=32', '--max_semi_space_size=32']) {
      process.env.NODE_OPTIONS = chosen;
      assert.deepEqual(agentFlags(), process.execArgv);
    }
  });

  it('has two arenas of malloc, or as many as the environment says', () => {
    assert.equal(agentEnvironment().MALLOC_ARENA_MAX, '2');
    process.env.MALLOC_ARENA_MAX = '8';
    assert.equal(agentEnvironment().MALLOC_ARENA_MAX, '8');
  });
});
