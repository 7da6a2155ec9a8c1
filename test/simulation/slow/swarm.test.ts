// The swarm is reproducible. `run-swarm.ts` judges the behaviour of its clusters.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runSwarm } from '../swarm.ts';

it('swarm: a seed gives the same run each time', () => {
  const [once, again] = [runSwarm(3, 'faults'), runSwarm(3, 'faults')];
  assert.deepEqual(once, again);
});
