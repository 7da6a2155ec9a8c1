import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ClusterStatus, joinedStatus } from '../../../../agent/cli/status/status-command.ts';

const part = (agents: string[], unreachable: string[]) =>
  ({ agents: agents.map((id) => ({ id })), unreachable, orders: [] }) as unknown as ClusterStatus;

test('status: joins the answers of agents with different neighbours', () => {
  const { agents, unreachable } = joinedStatus([
    part(['a1', 'a2'], ['a3', 'a4']),
    part(['a2', 'a3'], ['a4']),
  ]);
  assert.deepEqual(
    agents.map(({ id }) => id),
    ['a1', 'a2', 'a3'],
  );
  assert.deepEqual(unreachable, ['a4']);
});
