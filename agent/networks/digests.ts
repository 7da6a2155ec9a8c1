// The digests by which networks name URLs to each other. They have 16 bytes: with fewer, two URLs
// might share one, and a page would be lost for good.

import type { Digest } from './pools.ts';

/** In base64url: a text needs no memory outside the heap, unlike bytes. */
export type Sha256 = (text: string) => string;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** 16 bytes are 21 characters of six bits, and two bits of the next one. */
const WHOLE_CHARACTERS = 21;
const TWO_BITS = 0b110000;

/** The first 16 bytes in base64url. */
export function digestOf(identity: string, sha256: Sha256): Digest {
  const text = sha256(identity);
  const last = ALPHABET.indexOf(text[WHOLE_CHARACTERS]!) & TWO_BITS;
  return text.slice(0, WHOLE_CHARACTERS) + ALPHABET[last]!;
}
