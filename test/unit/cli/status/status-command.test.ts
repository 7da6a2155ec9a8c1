import assert from 'node:assert/strict';
import { test } from 'node:test';
import { walkedStatus } from '../../../../agent/cli/remote/ask-status.ts';
import type { WalkStep } from '../../../../agent/control/control.ts';

test('status: agents have the directives of an agent if their digests are the same', () => {
  const agents = { a1: 'x', a2: 'x', a3: 'y' };
  const orders = [{ kind: 'pause', host: '', value: 1, by: 'a4', applied: ['a1', 'a4'] }];
  const { agents: answered, ...status } = walkedStatus({
    results: new Map(Object.entries(agents).map(([id, directives]) => [id, { id, directives }])),
    unreachable: ['a5'],
    groups: [],
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
