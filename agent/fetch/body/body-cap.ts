/**
 * How much of a body is worth reading. Links come only from markup and text, so of an image, a
 * film or an archive just enough is read to keep the connection usable when the file is small;
 * beyond that the connection is closed, which is cheaper for both sides than ten megabytes
 * nobody looks at. `exchange.ts` asks when the header has come.
 */

/** About one round trip's worth of data, which is in flight anyway. */
export const SKIMMED_BODY_BYTES_MAX = 16 * 1024;

/** Types in which no link is looked for; a missing or odd type is read, since many are wrong. */
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

/** Statuses whose Location is followed by the crawl; their bodies say "moved" for humans. */
const REDIRECTS: ReadonlySet<number> = new Set([300, 301, 302, 303, 307, 308]);

export function isRedirect(status: number): boolean {
  return REDIRECTS.has(status);
}

/**
 * @param contentType the trimmed header, null where missing.
 * @returns the cap on the decoded body in bytes, at most `bodyBytesMax`.
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
