// One seed of some kinds of the swarm. `run-swarm.ts` runs any number of all kinds, and `.ci/run`
// includes these seeds.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Kind } from './plan.ts';
import { replay } from './run-swarm.ts';
import { runSwarm } from './swarm.ts';

const kinds: readonly Kind[] = ['moves', 'faults', 'disks'];
const partial: readonly Kind[] = ['calm', 'faults'];
const seed = 1;
/** Crawls in which a rule of the overlay was missing once, and what happened. */
const found: readonly (readonly [seed: number, kind: Kind, what: string])[] = [
  [1801, 'moves', 'an agent joins where nobody was, and the owner before it has an open request'],
  [1202, 'cuts', 'the leader of the next larger subtree is reached only through others'],
];

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
  for (const [seed, kind, what] of found) {
    it(`when ${what}`, () => {
      const { violations } = runSwarm(seed, kind, 'kademlia');
      assert.deepEqual(violations, [], `${replay(seed, kind)} --overlay kademlia`);
    });
  }
});
