// Hash functions for the tests of the ring: SHA-256, and variants that place hosts or points where
// a test needs them.

import { hash } from 'node:crypto';
import type { Sha256 } from '../../../assignment/assignment.ts';

export const sha256: Sha256 = (text) => hash('sha256', text, 'buffer');

/** SHA-256, except that a host `@` plus a decimal number lies at that place of the circle. */
export const placedSha256: Sha256 = (text) => {
  // Generated names may also begin with `@`.
  if (!/^@\d+$/.test(text)) return sha256(text);
  const digest = new Uint8Array(32);
  new DataView(digest.buffer).setBigUint64(0, BigInt(text.slice(1)));
  return digest;
};

/** SHA-256 of the text before a `#`: `a#1` and `a#2` get the points of `a`. */
export const collidingSha256: Sha256 = (text) => sha256(text.split('#')[0]!);
