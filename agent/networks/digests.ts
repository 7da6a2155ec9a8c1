// The digests by which networks name URLs to each other. They have 16 bytes: with fewer, two URLs
// might share one, and a page would be lost for good.

import type { Digest } from './pools.ts';

export type Sha256 = (text: string) => Uint8Array;

const DIGEST_BYTES = 16;

export function digestOf(identity: string, sha256: Sha256): Digest {
  return Buffer.from(sha256(identity).subarray(0, DIGEST_BYTES)).toString('base64url');
}
