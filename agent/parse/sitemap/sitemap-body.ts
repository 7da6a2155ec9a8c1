// Limits and checks that the main thread applies to a sitemap's body before a thread parses it.

/** Limit of the sitemap protocol on an uncompressed file. */
export const SITEMAP_BYTES_MAX = 50 * 1024 ** 2;

/** Whether the body begins as gzip data, whatever its name and type say. */
export function isPacked(body: Uint8Array): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}
