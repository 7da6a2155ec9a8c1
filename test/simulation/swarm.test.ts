// Some seeds of the swarm; `run-swarm.ts` runs any number.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KINDS, type Kind } from './plan.ts';
import { replay } from './run-swarm.ts';
import { runSwarm } from './swarm.ts';

/** Of each kind; storms take the time of many. */
const SEEDS: Readonly<Record<Kind, number>> = {
  calm: 3,
  moves: 5,
  faults: 8,
  disks: 5,
  cuts: 3,
  storms: 1,
  budgets: 6,
  waits: 4,
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
