// Clusters that are too large for real cores and stores on one machine: only the routing tables and
// the look-ups of the product run, on virtual time, and no agent has a store. The members of an agent
// follow from the identifiers: the agents of its regions, and those in whose regions it is.

import { createHash } from 'node:crypto';
import { commonPrefix, identifiersOf, type Key } from '../assignment/identifiers.ts';
import { grown, networkDefaults } from '../test/simulation/kademlia-network.ts';
import type { KademliaGiven } from './kademlia-part.ts';
import { progress } from './report.ts';

export interface Bare {
  readonly agents: number;
  /** Members of each agent, in ascending order. */
  readonly members: readonly number[];
  /** Contacts in the routing table of each agent, in ascending order. */
  readonly contacts: readonly number[];
  readonly lookups: number;
  readonly hopsMean: number;
  readonly hopsMost: number;
  readonly requests: number;
  readonly right: number;
  /** Of one agent, until all have joined. */
  readonly messagesToJoin: number;
  readonly heapBytes: number;
}

const lookupsMade = 2000;
const lookupEveryMs = 5;

const sha1 = (text: string) => createHash('sha1').update(text).digest();

export function bare(given: KademliaGiven, agents: number): Bare {
  const { ids, bucket: bucketSize, neighbourhood, seed } = given;
  const heapBefore = process.memoryUsage().heapUsed;
  const network = grown({ ...networkDefaults, seed, ids, bucketSize, agents });
  const heapBytes = (process.memoryUsage().heapUsed - heapBefore) / agents;
  const messagesToJoin = network.messages / agents;
  progress(`${agents} agents have joined without stores`);
  const { members: all } = network;
  const startMs = network.now;
  for (let k = 0; k < lookupsMade; k++) {
    network.at(startMs + k * lookupEveryMs, () => network.tryLookup(network.random.pick(all)));
  }
  network.runUntil(startMs + lookupsMade * lookupEveryMs + 60_000);
  const { judged } = network;
  const mean = (of: (one: (typeof judged)[number]) => number) =>
    judged.reduce((sum, one) => sum + of(one), 0) / judged.length;
  return {
    agents,
    members: membersOf(agents, ids, neighbourhood).toSorted((a, b) => a - b),
    contacts: all.map(({ table }) => table.contacts().length).toSorted((a, b) => a - b),
    lookups: judged.length,
    hopsMean: mean(({ found }) => found.hops),
    hopsMost: Math.max(...judged.map(({ found }) => found.hops)),
    requests: mean(({ found }) => found.messages),
    right: mean(({ isNearest }) => (isNearest ? 1 : 0)),
    ...{ messagesToJoin, heapBytes },
  };
}

interface Leaf {
  readonly key: Key;
  readonly agent: number;
}

/** The identifiers of the agents a1, a2 and so on, in ascending order. */
export function leavesOf(agents: number, ids: number): Leaf[] {
  const leaves: Leaf[] = [];
  for (let agent = 0; agent < agents; agent++) {
    const keys = identifiersOf({ id: `a${agent + 1}`, capacity: 1 }, { sha1, ids });
    for (const key of keys) leaves.push({ key, agent });
  }
  return leaves.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** How many others each agent watches or is watched by, by the rules of the overlay. */
export function membersOf(agents: number, ids: number, neighbourhood: number): number[] {
  return neighboursOf(leavesOf(agents, ids), agents, neighbourhood).map(({ size }) => size);
}

/** The others that each agent watches or is watched by, by the rules of the overlay. */
export function neighboursOf(
  leaves: readonly Leaf[],
  agents: number,
  neighbourhood: number,
): ReadonlySet<number>[] {
  const knows = Array.from({ length: agents }, () => new Set<number>());
  for (const [at, { agent }] of leaves.entries()) {
    for (const other of regionAround(leaves, at, Math.min(neighbourhood, agents))) {
      if (other === agent) continue;
      knows[agent]!.add(other);
      knows[other]!.add(agent);
    }
  }
  return knows;
}

/** The agents of the smallest subtree around a leaf with identifiers of so many agents. */
function regionAround(leaves: readonly Leaf[], at: number, least: number): Set<number> {
  const common = (left: number) => {
    const [a, b] = [leaves[left], leaves[left + 1]];
    return a && b ? commonPrefix(a.key, b.key) : -1;
  };
  let [from, to] = [at, at];
  const inside = new Set([leaves[at]!.agent]);
  while (inside.size < least) {
    const length = Math.max(common(from - 1), common(to));
    while (common(from - 1) >= length && from > 0) inside.add(leaves[--from]!.agent);
    while (common(to) >= length && to < leaves.length - 1) inside.add(leaves[++to]!.agent);
  }
  return inside;
}
