// Maps each host to a preference list of agents. Every agent computes the list alone, without
// messages. The protocol only needs contravariance: removing an agent must not change the order
// of the others. The ring and the Kademlia placement are its implementations.

export interface RingMember {
  /** Unique in the cluster; ties are broken by its UTF-16 code units. */
  readonly id: string;
  /**
   * Weight: an agent with 2 gets about twice the hosts of an agent with 1. On the ring, an agent with
   * 0 is last in all lists.
   */
  readonly capacity: number;
}

/** The members in the order that breaks ties. Throws if two have the same `id`. */
export function sortedMembers(members: readonly RingMember[]): readonly RingMember[] {
  const sorted = members.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (let i = 1; i < sorted.length; i++) {
    if (sorted[i]!.id === sorted[i - 1]!.id) throw new Error(`two agents named ${sorted[i]!.id}`);
  }
  return sorted;
}

/** SHA-256 of the UTF-8 bytes of `text`: 32 bytes. Injected, so that this folder stays pure. */
export type Sha256 = (text: string) => Uint8Array;

/** The preference lists of a fixed set of agents. */
export interface Assignment {
  /** First agent of the host's preference list; undefined only if there are no agents. */
  owner(host: string): string | undefined;
  /**
   * Preference list of the host: the owner, then its successors. `count` limits the length, which
   * is cheaper; the default is all agents.
   */
  order(host: string, count?: number): readonly string[];
  /** The nearest of the known agents. Absent if all agents are known. */
  nearest?(host: string): string | undefined;
}

/** A part of the space of host keys that one agent owns. */
export interface Arc {
  readonly id: string;
  /** Fraction of the space. */
  readonly share: number;
}

/** The fraction of the space that each of these agents owns. */
export function sharesOf(ids: readonly string[], arcs: Iterable<Arc>): Map<string, number> {
  const owned = new Map<string, number>(ids.map((id) => [id, 0]));
  for (const { id, share } of arcs) owned.set(id, owned.get(id)! + share);
  return owned;
}
