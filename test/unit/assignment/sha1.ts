// SHA-1 for the tests of the Kademlia placement, and variants that place keys where a test needs
// them.

import { hash } from 'node:crypto';
import type { Key, Sha1 } from '../../../assignment/identifiers.ts';

export const sha1: Sha1 = (text) => hash('sha1', text, 'buffer');

/** SHA-1, except for the given keys. An agent `a` has the identifiers `a/0`, `a/1` and so on. */
export function givenSha1(given: Readonly<Record<string, Key>>): Sha1 {
  return (text) => (text in given ? bytesOf(given[text]!) : sha1(text));
}

/** SHA-1 with only the bits of `mask`: few bits make equal identifiers and long common prefixes. */
export function maskedSha1(mask: Key): Sha1 {
  return (text) => bytesOf(numberOf(sha1(text)) & mask);
}

export function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

function bytesOf(key: Key): Uint8Array {
  return Buffer.from(key.toString(16).padStart(40, '0'), 'hex');
}
