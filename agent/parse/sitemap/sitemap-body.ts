// What the main thread has to know of a sitemap's body before a parse thread reads it.

/** By the protocol, unpacked. */
export const SITEMAP_BYTES_MAX = 50 * 1024 ** 2;

/** Whether it begins as gzip does, whatever its name and type say. */
export function isPacked(body: Uint8Array): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}
