// One seed of some kinds of the swarm. `run-swarm.ts` runs any number of all kinds, and `.ci/run`
// includes these seeds.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Kind } from './plan.ts';
import { replay } from './run-swarm.ts';
import { runSwarm } from './swarm.ts';

const kinds: readonly Kind[] = ['moves', 'faults', 'disks', 'shares'];
const seed = 1;
describe('swarm: polite requests, complete crawls, equal views and no loss with any disk', () => {
  for (const kind of kinds) {
    it(`in a cluster of the kind ${kind}`, () => {
      assert.deepEqual(runSwarm(seed, kind).violations, [], replay(seed, kind));
    });
  }
});
