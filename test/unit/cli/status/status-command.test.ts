import assert from 'node:assert/strict';
import { test } from 'node:test';
import { walkedStatus } from '../../../../agent/cli/remote/ask-status.ts';
import { statusText } from '../../../../agent/cli/status/status-command.ts';
import type { WalkStep } from '../../../../agent/control/control.ts';
import { agentStatus } from '../agent-status.ts';

test('status: agents have the directives of an agent if their digests are the same', () => {
  const agents = { a1: 'x', a2: 'x', a3: 'y' };
  const orders = [{ kind: 'pause', host: '', value: 1, by: 'a4', applied: ['a1', 'a4'] }];
  const { agents: answered, ...status } = walkedStatus({
    results: new Map(Object.entries(agents).map(([id, directives]) => [id, { id, directives }])),
    unreachable: ['a5'],
    groups: [],
    unreadable: [],
    begins: [{ me: { id: 'a1' }, orders } as unknown as WalkStep],
  });
  assert.deepEqual(
    answered.map(({ id }) => id),
    ['a1', 'a2', 'a3'],
  );
  assert.deepEqual(status.unreachable, ['a5']);
  assert.deepEqual(
    status.orders.map(({ applied }) => applied),
    [['a1', 'a4', 'a2']],
  );
});

test('status: shows where agents serve the dashboard, and no more addresses than fit', () => {
  const served = (n: number) =>
    Array.from({ length: n }, (_, k) =>
      agentStatus({ id: `a${k + 1}`, dashboard: `http://127.0.0.1:${9425 + k}/` }),
    );
  const textOf = (agents: ReturnType<typeof served>) => statusText({ agents, unreachable: [] });
  assert.doesNotMatch(textOf([agentStatus({ id: 'a1' })]), /dashboard/);
  assert.match(
    textOf(served(2)),
    /\n\ndashboards, each of the whole cluster:\n {2}a1 {2}http:\/\/127\.0\.0\.1:9425\/\n {2}a2 {2}\S+9426\/$/,
  );
  assert.match(textOf(served(12)), /a8 {2}\S+\n {2}… and 4 more \(--json\)$/);
});
