// The table at the end of a launch.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { endOf } from '../../../../agent/cli/launch/launch-summary.ts';

it('an agent that was started again by hand has the end of its last run', () => {
  const left = { kind: 'left', reason: '' } as const;
  const killed = { kind: 'killed', signal: 'SIGKILL' } as const;
  assert.equal(endOf(left, 'complete'), 'complete');
  assert.equal(endOf(killed, 'complete'), 'complete');
  assert.equal(endOf(left, 'left'), 'left');
  assert.match(endOf(killed, null), /killed/);
  assert.equal(endOf(null, null), 'not of this launch');
});
