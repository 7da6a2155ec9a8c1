// The key space of Kademlia: identifiers and keys are 160-bit numbers, and the distance of two of
// them is their XOR (Maymounkov and Mazières 2002). An agent has several identifiers, in proportion
// to its capacity, so that the shares of the agents differ less.

import type { RingMember } from './assignment.ts';

/** SHA-1 of the UTF-8 bytes of `text`: 20 bytes. Injected, so that this folder stays pure. */
export type Sha1 = (text: string) => Uint8Array;

/** An identifier of an agent or the key of a host: an unsigned number below 2^160. */
export type Key = bigint;

/** Bits of an identifier. */
export const KEY_BITS = 160;

/** All agents of a cluster must use the same values, or their preference lists differ. */
export interface KademliaOptions {
  readonly sha1: Sha1;
  /** Identifiers of an agent of capacity 1: a positive integer. */
  readonly ids: number;
}

/**
 * Maximum number of identifiers of one agent: a capacity of 1,000 with 16 identifiers. Capacities
 * arrive in messages; the limit bounds the time that an absurd one costs. All agents apply the same
 * limit.
 */
const identifiersPerAgentMax = 16_000;

/** The key of a host: the SHA-1 of its name. */
export function keyOf(host: string, sha1: Sha1): Key {
  let key = 0n;
  const bytes = sha1(host);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < KEY_BITS / 8; at += 4) key = (key << 32n) | BigInt(view.getUint32(at));
  return key;
}

/**
 * The identifiers of an agent: the SHA-1 of `id/0`, `id/1` and so on. A higher capacity only adds
 * identifiers, so the agent gains hosts and loses none. A drained agent has those of capacity 1: it
 * keeps its place among the agents, and its hosts go to agents that it knows.
 */
export function identifiersOf({ id, capacity }: RingMember, options: KademliaOptions): Key[] {
  const count = identifierCount(capacity, options.ids);
  return Array.from({ length: count }, (_, i) => keyOf(`${id}/${i}`, options.sha1));
}

/** max(1, round(capacity × ids)), halves rounded up; drained: `ids`. Throws a RangeError for NaN. */
function identifierCount(capacity: number, ids: number): number {
  const count = Math.round((capacity === 0 ? 1 : capacity) * ids);
  if (Number.isNaN(count)) throw new RangeError(`invalid capacity or ids: ${capacity}, ${ids}`);
  return Math.min(identifiersPerAgentMax, Math.max(1, count));
}

/** Number of leading bits that two keys have in common; `KEY_BITS` if they are equal. */
export function commonPrefix(a: Key, b: Key): number {
  if (a === b) return KEY_BITS;
  const distance = a ^ b;
  for (let bits = 0; ; bits += 32) {
    // The bits above this word are zero.
    const word = Number(distance >> BigInt(KEY_BITS - 32 - bits));
    if (word !== 0) return bits + Math.clz32(word);
  }
}

/** The bit at a depth: 0 is the most significant one. */
export function bitAt(key: Key, depth: number): 0 | 1 {
  return (key >> BigInt(KEY_BITS - 1 - depth)) & 1n ? 1 : 0;
}
