// Some seeds of the swarm; `run-swarm.ts` runs any number, and CI plays these among its own.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KINDS, type Kind } from './plan.ts';
import { replay } from './run-swarm.ts';
import { runSwarm } from './swarm.ts';

/** Of each kind. */
const SEEDS: Readonly<Record<Kind, number>> = {
  calm: 1,
  moves: 2,
  faults: 3,
  disks: 2,
  cuts: 1,
  storms: 1,
  budgets: 2,
  waits: 1,
};

describe('swarm: polite, complete and agreed, nothing lost with any disk', () => {
  for (const kind of KINDS) {
    it(`in ${SEEDS[kind]} clusters of the kind ${kind}`, () => {
      for (let seed = 1; seed <= SEEDS[kind]; seed++) {
        assert.deepEqual(runSwarm(seed, kind).violations, [], replay(seed, kind));
      }
    });
  }

  it('a seed plays the same course each time', () => {
    const [once, again] = [runSwarm(3, 'faults'), runSwarm(3, 'faults')];
    assert.deepEqual(once, again);
  });
});
