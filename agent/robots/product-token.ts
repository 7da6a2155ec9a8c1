// The name by which robots.txt files address this crawler. It is taken from the User-Agent header,
// since both must be the same name (RFC 9309, section 2.2.1).

/**
 * An HTTP token without `*` and `#`, which have another meaning in robots.txt. RFC 9309 allows only
 * letters, `_` and `-`, but names with digits and dots are common.
 */
const TOKEN = /^[\t ]*([!$%&'+.^_`|~0-9A-Za-z-]+)/;

/**
 * @param userAgent - a User-Agent value, such as `my-crawl/1.2 (+https://example.org/bot)`
 * @returns the product token at its start, such as `my-crawl`; null: there is none
 */
export function productTokenOf(userAgent: string): string | null {
  return TOKEN.exec(userAgent)?.[1] ?? null;
}
