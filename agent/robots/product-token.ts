// The name by which robots.txt files address this crawler, taken from the User-Agent header that
// it sends: both must be the same name (RFC 9309, section 2.2.1). The agent takes its own token
// once at start; the parser takes that of each user-agent line.

/**
 * A token as HTTP has it, less `*` and `#`, which mean something else in robots.txt. Wider than
 * the letters, `_` and `-` of RFC 9309, because names with digits and dots are in every file.
 */
const TOKEN = /^[\t ]*([!$%&'+.^_`|~0-9A-Za-z-]+)/;

/**
 * The product token at the start of a User-Agent value.
 *
 * @param userAgent - such as `my-crawl/1.2 (+https://example.org/bot)`
 * @returns such as `my-crawl`, or null where the value does not start with one
 */
export function productTokenOf(userAgent: string): string | null {
  return TOKEN.exec(userAgent)?.[1] ?? null;
}
