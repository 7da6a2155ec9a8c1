// One seed of some kinds of the swarm. `run-swarm.ts` runs any number of all kinds, and `.ci/run`
// includes these seeds.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { without } from './mutations.ts';
import type { Kind } from './plan.ts';
import { replay } from './run-swarm.ts';
import { runSwarm } from './swarm.ts';

const kinds: readonly Kind[] = ['moves', 'faults', 'disks', 'shares'];
const partial: readonly Kind[] = ['calm', 'faults'];
const seed = 1;
describe('swarm: polite requests, complete crawls, equal views and no loss with any disk', () => {
  for (const kind of kinds) {
    it(`in a cluster of the kind ${kind}`, () => {
      assert.deepEqual(runSwarm(seed, kind).violations, [], replay(seed, kind));
    });
  }
  for (const kind of partial) {
    it(`in a cluster of the kind ${kind} whose agents know only their neighbours`, () => {
      const { violations } = runSwarm(seed, kind, 'kademlia');
      assert.deepEqual(violations, [], `${replay(seed, kind)} --overlay kademlia`);
    });
  }
  it('and notices agents that decide for hosts without all agents near them', () => {
    const run = () => runSwarm(seed, 'moves', 'kademlia').violations;
    assert.deepEqual(run(), [], `${replay(seed, 'moves')} --overlay kademlia`);
    assert.notDeepEqual(without('way-followed', run), []);
  });
});
