// Digests as web archives write them: SHA-1 in base 32 (RFC 4648), so that equal payloads are found
// across collections. SHA-1 only identifies content here; security does not depend on it.

import { createHash } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** @returns 32 characters, without the prefix `sha1:`. */
export function sha1Base32(...parts: readonly Uint8Array[]): string {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return base32(hash.digest());
}

/** There is no padding, so the length must be a multiple of five bytes, such as the 20 of SHA-1. */
function base32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = ((held & 0x1f) << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(held >> bits) & 31];
    }
  }
  return text;
}
