import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinedSummary } from '../../../../agent/cli/commands/directive-commands.ts';

test('directives: an agent that one of two others has reached has the directive', () => {
  const joined = joinedSummary([
    { agents: { a1: 'applied', a2: 'unreachable', a3: 'unreachable' }, hosts: 2 },
    { agents: { a2: 'applied', a1: 'unreachable' }, hosts: 3, stillBlockedBy: '*' },
  ]);
  assert.deepEqual(joined, {
    agents: { a1: 'applied', a2: 'applied', a3: 'unreachable' },
    hosts: 3,
    stillBlockedBy: '*',
  });
});
