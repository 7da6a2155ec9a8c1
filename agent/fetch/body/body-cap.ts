/**
 * Decides how much of a body is read. Only markup and text contain links. A small image, film or
 * archive is read to its end, so that the connection stays usable. If the file is larger, the
 * connection is closed: that is cheaper for both sides than ten megabytes that nobody uses.
 */

/** Bytes: about the data of one round trip, which is in flight anyway. */
export const SKIMMED_BODY_BYTES_MAX = 16 * 1024;

/** Types without links. A missing or odd type is read, since many are wrong. */
const NO_LINKS = new RegExp(
  [
    '^(?:image(?!/svg)|audio|video|font|model)/',
    '^application/(?:octet-stream|pdf|wasm|msword|postscript|ogg|epub\\+zip|rtf)',
    '^application/(?:x-)?(?:zip|gzip|tar|bzip2?|xz|zstd|7z-compressed|rar|rar-compressed)',
    '^application/(?:vnd\\.(?:ms-|openxmlformats|oasis|rar|android|debian)|java-archive)',
    '^application/x-(?:shockwave-flash|msdownload|iso9660-image|debian-package|rpm|font)',
  ].join('|'),
  'i',
);

/** Statuses whose Location the crawl follows; their bodies are only for humans. */
const REDIRECTS: ReadonlySet<number> = new Set([300, 301, 302, 303, 307, 308]);

export function isRedirect(status: number): boolean {
  return REDIRECTS.has(status);
}

/**
 * @param contentType the trimmed header; null if absent.
 * @returns the limit on the decoded body in bytes, at most `bodyBytesMax`.
 */
export function bodyCap(
  kind: 'page' | 'robots',
  status: number,
  contentType: string | null,
  bodyBytesMax: number,
): number {
  const skimmed =
    isRedirect(status) || (kind === 'page' && contentType !== null && NO_LINKS.test(contentType));
  return skimmed ? Math.min(bodyBytesMax, SKIMMED_BODY_BYTES_MAX) : bodyBytesMax;
}
