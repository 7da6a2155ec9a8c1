// That the swarm can be played again; what its clusters do is judged by `run-swarm.ts`.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runSwarm } from '../swarm.ts';

it('swarm: a seed plays the same course each time', () => {
  const [once, again] = [runSwarm(3, 'faults'), runSwarm(3, 'faults')];
  assert.deepEqual(once, again);
});
