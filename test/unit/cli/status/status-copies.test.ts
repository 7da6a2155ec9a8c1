import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { statusText } from '../../../../agent/cli/status/status-command.ts';
import { fewCopiesText } from '../../../../agent/cli/status/status-copies.ts';
import { agentStatus } from '../agent-status.ts';

/** @param configured - number of agents in the config */
function textOf(running: number, configured: number, backups: number): string | null {
  const ids = Array.from({ length: running }, (_, k) => `a${k + 1}`);
  const agents = ids.map((id) => {
    const members = ids.filter((other) => other !== id).map((other) => ({ id: other }) as never);
    return agentStatus({ id, members });
  });
  const cluster = { backups, agents: Array.from({ length: configured }) };
  return fewCopiesText(agents, { cluster } as unknown as ResolvedConfig);
}

test('status: says how many copies hosts lack if too few agents run, and not otherwise', () => {
  const few = 'each host has 0 of 1 copies: too few agents run';
  assert.equal(textOf(1, 2, 1), few);
  assert.equal(textOf(2, 4, 2), 'each host has 1 of 2 copies: too few agents run');
  assert.equal(textOf(2, 4, 1), null);
  assert.equal(textOf(3, 2, 2), null, 'one has joined that the config does not list');
  assert.equal(textOf(1, 1, 1), null, 'the config has no agent for copies');
  assert.equal(textOf(0, 2, 1), null, 'nobody answers');
  const cluster = { agents: [agentStatus({ id: 'a1' })], unreachable: ['a2'] };
  assert.ok(statusText(cluster, few).includes(`\n\n${few}\n\n`));
});
