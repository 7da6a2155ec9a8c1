// One seed of the swarm; `run-swarm.ts` runs any number, and `.ci/run` plays this among its own.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KINDS } from './plan.ts';
import { replay } from './run-swarm.ts';
import { runSwarm } from './swarm.ts';

const seed = 1;

describe('swarm: polite, complete and agreed, nothing lost with any disk', () => {
  for (const kind of KINDS) {
    it(`in a cluster of the kind ${kind}`, () => {
      assert.deepEqual(runSwarm(seed, kind).violations, [], replay(seed, kind));
    });
  }

  it('a seed plays the same course each time', () => {
    const [once, again] = [runSwarm(3, 'faults'), runSwarm(3, 'faults')];
    assert.deepEqual(once, again);
  });
});
