// The placement of the Kademlia overlay. Each agent has several identifiers, and each host has one
// key. The agent with the identifier that is nearest to the key, by XOR, owns the host. Adding or
// removing an agent does not move the identifiers of the others, which gives contravariance. The
// sorted identifiers are the leaves of a binary trie. A subtree is a range of them, so the trie
// itself is not stored.

import {
  type Arc,
  type Assignment,
  drainedApart,
  type RingMember,
  sharesOf,
  sortedMembers,
  withDrained,
} from './assignment.ts';
import {
  bitAt,
  commonPrefix,
  type KademliaOptions,
  KEY_BITS,
  type Key,
  keyOf,
  type Sha1,
} from './identifiers.ts';
import { KnownIdentifiers } from './known-identifiers.ts';
import { RecentOrders } from './recent-orders.ts';

/** The identifiers of all agents in ascending order; equal ones are ordered by agent. */
interface Leaves {
  /** The `id` of each agent in code-unit order; an agent's number is its index. */
  readonly names: readonly string[];
  readonly keys: readonly Key[];
  /** Number of the agent at the same index of `keys`. */
  readonly agents: readonly number[];
}

/** A part of the trie of all identifiers. */
export type TrieNode =
  /** Its identifiers differ first in the bit at `depth`. */
  | { readonly kind: 'fork'; readonly depth: number }
  | { readonly kind: 'leaf'; readonly id: string }
  /** Its parts were left out. */
  | { readonly kind: 'deeper' };

/** Immutable, except for its cache. */
export class Kademlia implements Assignment {
  /** Of the agents that take hosts. */
  readonly #leaves: Leaves;
  /** Null: no agent is drained. */
  readonly #drained: Kademlia | null;
  readonly #sha1: Sha1;
  readonly #recent = new RecentOrders();

  /**
   * Throws if two members have the same `id`.
   *
   * @param options - a `KnownIdentifiers` is reused, so that its identifiers are computed once
   */
  constructor(members: readonly RingMember[], options: KademliaOptions) {
    const known = options instanceof KnownIdentifiers ? options : new KnownIdentifiers(options);
    const { others, drained } = drainedApart(members);
    this.#leaves = leavesOf(others, known);
    this.#drained = drained.length === 0 ? null : new Kademlia(drained, known);
    this.#sha1 = options.sha1;
  }

  owner(host: string): string | undefined {
    return this.#recent.first(host, 1, this.#nearest)[0];
  }

  order(host: string, count = Infinity): readonly string[] {
    const wanted = Math.max(0, Math.min(count, this.#leaves.names.length));
    const order = this.#recent.first(host, wanted, this.#nearest);
    const placed = order.length === wanted ? order : order.slice(0, wanted);
    return withDrained(placed, this.#drained, host, count);
  }

  /**
   * The fraction of the key space that each agent owns. The sum is 1. The values are exact unless
   * an identifier has more than 52 forks above it, which does not happen by chance.
   */
  shares(): Map<string, number> {
    const drained = this.#drained ? this.#drained.#leaves.names : [];
    return sharesOf([...this.#leaves.names, ...drained], this.arcs());
  }

  /** The parts of the key space in the order of the identifiers that own them. */
  *arcs(): Generator<Arc> {
    const shares = [1];
    for (const node of this.trie()) {
      const share = shares.pop()!;
      // Only the bit at the fork decides between its sides: the identifiers of both have the earlier
      // bits in common. Half of the keys have each value of the bit.
      if (node.kind === 'fork') shares.push(share / 2, share / 2);
      else if (node.kind === 'leaf') yield { id: node.id, share };
    }
  }

  /**
   * The trie in pre-order: each fork is followed by its side of the bit 0, then that of the bit 1.
   *
   * @param forksMax - forks above a node at most; further ones are left out
   */
  *trie(forksMax = Infinity): Generator<TrieNode> {
    const { names, keys, agents } = this.#leaves;
    function* within(low: number, high: number, forks: number): Generator<TrieNode> {
      const fork = forkOf(keys, low, high);
      // If several agents have this identifier, the first by name owns all of its share.
      if (fork === undefined) return yield { kind: 'leaf', id: names[agents[low]!]! };
      if (forks === forksMax) return yield { kind: 'deeper' };
      yield { kind: 'fork', depth: fork.depth };
      yield* within(low, fork.middle, forks + 1);
      yield* within(fork.middle, high, forks + 1);
    }
    if (keys.length > 0) yield* within(0, keys.length, 0);
  }

  readonly #nearest = (host: string, count: number): string[] => {
    const numbers = nearestAgents(this.#leaves, keyOf(host, this.#sha1), count);
    return numbers.map((n) => this.#leaves.names[n]!);
  };
}

function leavesOf(members: readonly RingMember[], known: KnownIdentifiers): Leaves {
  const sorted = sortedMembers(members);
  const leaves = sorted.flatMap((member, agent) => known.of(member).map((key) => ({ key, agent })));
  leaves.sort((a, b) => (a.key === b.key ? a.agent - b.agent : a.key < b.key ? -1 : 1));
  return {
    names: sorted.map(({ id }) => id),
    keys: leaves.map(({ key }) => key),
    agents: leaves.map(({ agent }) => agent),
  };
}

/** Where a subtree divides. */
export interface Fork {
  /** The first bit in which its identifiers differ. */
  readonly depth: number;
  /** Index of its first identifier with that bit set. */
  readonly middle: number;
}

/** The fork of the subtree from `low` up to `high - 1`; undefined if its identifiers are equal. */
export function forkOf(keys: readonly Key[], low: number, high: number): Fork | undefined {
  const last = keys[high - 1]!;
  const depth = commonPrefix(keys[low]!, last);
  if (depth === KEY_BITS) return undefined;
  return { depth, middle: firstAtOrAfter(keys, startOfOnes(last, depth), low, high) };
}

/** The first key with the bits of `key` before the depth and a one there; `key` has a one there. */
export function startOfOnes(key: Key, depth: number): Key {
  const belowFork = BigInt(KEY_BITS - 1 - depth);
  return (key >> belowFork) << belowFork;
}

/** Index of the first key from `low` up to `high - 1` that is at least `key`; `high` if none is. */
export function firstAtOrAfter(
  keys: readonly Key[],
  key: Key,
  low = 0,
  high = keys.length,
): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (keys[middle]! < key) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Numbers of at least the `count` agents nearest to `key`, or of all if there are fewer. */
function nearestAgents({ keys, agents }: Leaves, key: Key, count: number): number[] {
  const found = new Set<number>();
  const visit = (low: number, high: number): void => {
    if (found.size >= count) return;
    const fork = forkOf(keys, low, high);
    if (fork === undefined) {
      for (let at = low; at < high; at++) found.add(agents[at]!);
      return;
    }
    // Every key of the side with the bit of `key` is nearer than every key of the other side.
    const { depth, middle } = fork;
    if (bitAt(key, depth) === 0) {
      visit(low, middle);
      visit(middle, high);
    } else {
      visit(middle, high);
      visit(low, middle);
    }
  };
  if (keys.length > 0) visit(0, keys.length);
  return [...found];
}
