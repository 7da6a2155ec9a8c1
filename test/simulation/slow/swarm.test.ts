// The swarm is reproducible, and its judgement of partial views can fail. `run-swarm.ts` runs any number
// of seeds.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { without } from '../mutations.ts';
import type { Kind } from '../plan.ts';
import { replay } from '../run-swarm.ts';
import { runSwarm } from '../swarm.ts';

const seed = 1;

it('swarm: a seed gives the same run each time', () => {
  const [once, again] = [runSwarm(3, 'faults'), runSwarm(3, 'faults')];
  assert.deepEqual(once, again);
});

for (const kind of ['calm', 'faults'] satisfies Kind[]) {
  it(`swarm: a cluster of the kind ${kind} whose agents know only their neighbours`, () => {
    const { violations } = runSwarm(seed, kind, 'kademlia');
    assert.deepEqual(violations, [], `${replay(seed, kind)} --overlay kademlia`);
  });
}

it('swarm: notices agents that decide for hosts without all agents near them', () => {
  const run = () => runSwarm(seed, 'moves', 'kademlia').violations;
  assert.deepEqual(run(), [], `${replay(seed, 'moves')} --overlay kademlia`);
  assert.notDeepEqual(without('way-followed', run), []);
});
