// The digests by which networks name URLs to each other. They have 16 bytes: with fewer, two URLs
// might share one, and a page would be lost for good.

import type { Digest } from './pools.ts';

/** In base64url: a text needs no memory outside the heap, unlike bytes. */
export type Sha256 = (text: string) => string;

/** Characters whose bits are all of the first 16 bytes; 2 bits of the next one are, too. */
const WHOLE_CHARACTERS = 21;

/** The first 16 bytes in base64url. */
export function digestOf(identity: string, sha256: Sha256): Digest {
  const text = sha256(identity);
  return text.slice(0, WHOLE_CHARACTERS) + withoutLowBits(text[WHOLE_CHARACTERS]!);
}

/** The character with the same two high bits of six, and no others. */
function withoutLowBits(character: string): string {
  if (character >= 'a') return character < 'w' ? (character < 'g' ? 'Q' : 'g') : 'w';
  if (character >= 'A' && character <= 'Z') return character < 'Q' ? 'A' : 'Q';
  return 'w';
}
