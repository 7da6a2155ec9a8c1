import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leftOf } from '../../../../agent/cli/remote/left-agents.ts';
import { agentStatus } from '../agent-status.ts';

const left = { id: 'a3', kind: 'leave', ageMs: 500 } as const;
const isLeft = (...parts: Parameters<typeof agentStatus>[0][]) => {
  const heard = { agents: parts.map(agentStatus), unreachable: ['a3'] };
  return leftOf(heard).includes('a3');
};

test('left: what was recorded last about a silent agent decides, whoever recorded it', () => {
  assert.equal(isLeft({}), false);
  assert.equal(isLeft({ gone: [left] }, {}), true);
  for (const kind of ['join', 'suspect'] as const) {
    assert.equal(isLeft({ gone: [left] }, { gone: [{ ...left, kind, ageMs: 100 }] }), false, kind);
    assert.equal(isLeft({ gone: [{ ...left, kind, ageMs: 900 }] }, { gone: [left] }), true, kind);
  }
});

test('left: no agent has left that is a member of another one, or that answers', () => {
  assert.equal(isLeft({ gone: [left] }, { members: [{ id: 'a3' } as never] }), false);
  assert.deepEqual(leftOf({ agents: [agentStatus({ gone: [left] })], unreachable: [] }), []);
});
