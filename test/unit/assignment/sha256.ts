// The SHA-256 that tests of the ring pass in, and one that places hosts where a test wants them.

import { hash } from 'node:crypto';
import type { Sha256 } from '../../../assignment/assignment.ts';

export const sha256: Sha256 = (text) => hash('sha256', text, 'buffer');

/** As SHA-256, but a host `@` and a decimal number lies at that place of the circle. */
export const placedSha256: Sha256 = (text) => {
  // Drawn names may begin with it, too.
  if (!/^@\d+$/.test(text)) return sha256(text);
  const digest = new Uint8Array(32);
  new DataView(digest.buffer).setBigUint64(0, BigInt(text.slice(1)));
  return digest;
};

/** As SHA-256 for all but the text before a `#`: `a#1` and `a#2` get the points of `a`. */
export const collidingSha256: Sha256 = (text) => sha256(text.split('#')[0]!);
