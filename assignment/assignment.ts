// Maps each host to a preference list of agents. Every agent computes the list alone, without
// messages. The protocol only needs contravariance: removing an agent must not change the order
// of the others. The ring and the Kademlia placement are its implementations.

export interface RingMember {
  /** Unique in the cluster; ties are broken by its UTF-16 code units. */
  readonly id: string;
  /**
   * Weight: an agent with 2 gets about twice the hosts of an agent with 1. An agent with 0 is drained:
   * it is last in all lists, so it owns no host, and is a backup only if there are too few others.
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

/** The agents that take hosts, and the drained ones. */
export function drainedApart(members: readonly RingMember[]): {
  readonly others: readonly RingMember[];
  /** As if they had a capacity of 1. */
  readonly drained: readonly RingMember[];
} {
  const drained = members.filter(({ capacity }) => capacity === 0);
  if (drained.length === 0) return { others: members, drained };
  const others = members.filter(({ capacity }) => capacity !== 0);
  return { others, drained: drained.map(({ id }) => ({ id, capacity: 1 })) };
}

/** The list with drained agents at its end; if no agent takes hosts, it is empty. */
export function withDrained(
  order: readonly string[],
  drained: Assignment | null,
  host: string,
  count: number,
): readonly string[] {
  if (!drained || order.length === 0 || order.length >= count) return order;
  return [...order, ...drained.order(host, count - order.length)];
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
