// The agents and regions of the key space that routing is about. A contact is an agent, and its
// identifiers follow from its name and capacity, so messages and the disk need not carry them. A
// region is the set of all keys with one prefix: the range of a k-bucket.

import type { RingMember } from '../../../assignment/assignment.ts';
import { KEY_BITS, type Key, keyOf, type Sha1 } from '../../../assignment/identifiers.ts';
import { PAGES_NAME } from '../../core/membership/overlay.ts';
import type { MemberCard } from '../../core/protocol/messages.ts';
import { firstFrom, isLong, nearestDistance, placesBetween } from './sorted-keys.ts';

/** An agent that can be asked. */
export interface Contact extends RingMember {
  readonly address: string;
}

export function contactOf({ id, capacity, address }: Contact): Contact {
  return { id, capacity, address };
}

/** For messages: the incarnation of a contact is unknown. */
export function cardOf({ id, capacity, address }: Contact): MemberCard {
  return { id, inc: 0, capacity, address };
}

/** The identifiers of an agent. It is called often, so it should remember its results. */
export type IdentifiersOf = (agent: RingMember) => readonly Key[];

/** The key of a host, or of the page limit, whose owner leads the whole key space (`tree/`). */
export function keyOfName(name: string, sha1: Sha1): Key {
  return name === PAGES_NAME ? 0n : keyOf(name, sha1);
}

/** All keys that begin with the first `length` bits of `bits`; the other bits are 0. */
export interface Prefix {
  readonly bits: Key;
  readonly length: number;
}

/** Whether the agent takes no hosts. Then it is no contact, and no subtree is occupied by it. */
export function isDrained({ capacity }: Pick<RingMember, 'capacity'>): boolean {
  return capacity === 0;
}

/** The first `length` bits of a key. */
export function prefixOf(key: Key, length: number): Prefix {
  const rest = BigInt(KEY_BITS - length);
  return { bits: (key >> rest) << rest, length };
}

/** In hexadecimal, as in messages. */
export function hexOf(value: bigint, bits = KEY_BITS): string {
  return value.toString(16).padStart(bits / 4, '0');
}

export function isIn(key: Key, { bits, length }: Prefix): boolean {
  return (key ^ bits) >> BigInt(KEY_BITS - length) === 0n;
}

export function hasAny(keys: readonly Key[], prefix: Prefix): boolean {
  if (!isLong(keys)) return keys.some((key) => isIn(key, prefix));
  const first = firstFrom(keys, prefix.bits);
  return first !== undefined && isIn(first, prefix);
}

/** The places in the array of the keys that are in the region, in any order. */
export function placesIn(keys: readonly Key[], prefix: Prefix): Iterable<number> {
  return placesBetween(keys, prefix.bits, endOf(prefix));
}

/** The region beside the path to a key: the same first `depth` bits, and then the other bit. */
export function siblingOf(key: Key, depth: number): Prefix {
  return prefixOf(key ^ (1n << BigInt(KEY_BITS - 1 - depth)), depth + 1);
}

/** The first key after the region. */
export function endOf({ bits, length }: Prefix): Key {
  return bits + (1n << BigInt(KEY_BITS - length));
}

/**
 * A key of the region, for a refresh.
 *
 * @param random - returns numbers in [0, 1)
 */
export function randomKeyIn({ bits, length }: Prefix, random: () => number): Key {
  let key = 0n;
  for (let i = 0; i < KEY_BITS / 32; i++)
    key = (key << 32n) | BigInt(Math.floor(random() * 2 ** 32));
  return bits | BigInt.asUintN(KEY_BITS - length, key);
}

/** The distance from the key to the nearest of the identifiers. */
export function distanceTo(key: Key, identifiers: readonly Key[]): Key {
  if (isLong(identifiers)) return nearestDistance(key, identifiers);
  let nearest = 1n << BigInt(KEY_BITS);
  for (const identifier of identifiers) {
    const distance = identifier ^ key;
    if (distance < nearest) nearest = distance;
  }
  return nearest;
}

/** The agents by their distance to the key; drained ones only if there are no others to ask. */
export function nearestOf<T extends Contact>(
  key: Key,
  agents: readonly T[],
  identifiersOf: IdentifiersOf,
): T[] {
  const others = agents.filter((agent) => !isDrained(agent));
  return (others.length > 0 ? others : agents)
    .map((agent) => ({ agent, distance: distanceTo(key, identifiersOf(agent)) }))
    .sort((a, b) => (a.distance < b.distance ? -1 : 1))
    .map(({ agent }) => agent);
}

/** Agents in a region that are named in one answer. */
const NAMED_MAX = 64;
/** Agents named for each subtree beside a region. */
const BESIDE_MAX = 2;

/**
 * The agents to name to one that asks about a region: those in it, and some beside its path. With
 * many drained agents, a region may have more agents than can be named.
 */
export function namesFor<T extends Contact>(
  region: Prefix,
  agents: readonly T[],
  identifiersOf: IdentifiersOf,
): T[] {
  const all = agents.map((agent) => ({ agent, identifiers: identifiersOf(agent) }));
  const named = all
    .filter(({ identifiers }) => hasAny(identifiers, region))
    .map(({ agent, identifiers }) => {
      const distance = distanceTo(region.bits, identifiers);
      return { agent, distance, isLast: isDrained(agent) };
    })
    .sort((a, b) => ((a.isLast === b.isLast ? a.distance < b.distance : b.isLast) ? -1 : 1))
    .slice(0, NAMED_MAX)
    .map(({ agent }) => agent);
  for (let level = 0; level < region.length; level++) {
    const sibling = siblingOf(region.bits, level);
    const beside = all.filter(({ identifiers }) => hasAny(identifiers, sibling));
    named.push(...beside.slice(0, BESIDE_MAX).map(({ agent }) => agent));
  }
  return [...new Set(named)];
}
