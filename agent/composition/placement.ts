// Places hosts on agents as the config says: on the ring or by Kademlia identifiers. For the
// commands, which know all agents; a running agent of the overlay kademlia knows only the lists of
// its neighbourhood (selected-overlay.ts).

import { hash } from 'node:crypto';
import type { Arc, Assignment, RingMember } from '../../assignment/assignment.ts';
import type { Sha1 } from '../../assignment/identifiers.ts';
import { Kademlia, type TrieNode } from '../../assignment/kademlia.ts';
import { KnownIdentifiers } from '../../assignment/known-identifiers.ts';
import { Ring } from '../../assignment/ring.ts';
import { RingPoints } from '../../assignment/ring-points.ts';
import type { Config } from '../../config/config.ts';
import { assertNever } from '../core/protocol/assert-never.ts';

/** The preference lists of known agents. */
export interface Placement extends Assignment {
  /** The fraction of the hosts that each agent owns. */
  shares(): Map<string, number>;
  /** The parts of the space of host keys in their order, with their owners. */
  arcs(): Iterable<Arc>;
  /** The trie of all identifiers; absent on the ring. */
  trie?(forksMax: number): Iterable<TrieNode>;
}

type Cluster = Pick<Config['cluster'], 'overlay' | 'kademlia' | 'replicas'>;

export const sha1: Sha1 = (text) => hash('sha1', text, 'buffer');

export function ringPointsOf({ replicas }: Pick<Cluster, 'replicas'>): RingPoints {
  return new RingPoints({ replicas, sha256: (text) => hash('sha256', text, 'buffer') });
}

export function placementOf(cluster: Cluster, members: readonly RingMember[]): Placement {
  switch (cluster.overlay) {
    case 'ring':
      return new Ring(members, ringPointsOf(cluster));
    case 'kademlia':
      return new Kademlia(members, new KnownIdentifiers({ sha1, ids: cluster.kademlia.ids }));
    default:
      return assertNever(cluster.overlay);
  }
}

/** Number of points or identifiers of each agent: the places that decide about its share. */
export function placesOf(cluster: Cluster, members: readonly RingMember[]): Map<string, number> {
  if (cluster.overlay === 'ring') return new Ring(members, ringPointsOf(cluster)).pointCounts();
  const known = new KnownIdentifiers({ sha1, ids: cluster.kademlia.ids });
  const countOf = (member: RingMember) => (member.capacity === 0 ? 0 : known.of(member).length);
  return new Map(members.map((member) => [member.id, countOf(member)]));
}
