// What a page says to robots about itself, in `<meta name=robots>` or the X-Robots-Tag header: a
// list of directives, which may be addressed to one crawler by its product token. All that concern
// this crawler hold together, so the strictest wins. The scanner reads the elements, the page
// pipeline the header.

/** What is asked of a crawler; everything else in these lists concerns search results. */
export interface RobotsDirectives {
  readonly noindex: boolean;
  /** No link of the page is to be followed. */
  readonly nofollow: boolean;
  /** No copy of the page is to be shown. */
  readonly noarchive: boolean;
}

/** As if nothing had been said. */
export const NO_DIRECTIVES: RobotsDirectives = {
  noindex: false,
  nofollow: false,
  noarchive: false,
};

/** Directives with a value, whose colon is not that of a crawler's name. */
const VALUED = /^(?:unavailable_after|max-snippet|max-image-preview|max-video-preview)$/;

/** Longer headers are read so far; one directive has some ten characters. */
const HEADER_CHARS_MAX = 8192;

/** @param content - the `content` attribute of an element that concerns this crawler */
export function metaDirectives(content: string): RobotsDirectives {
  return said(content.split(',').map(directiveOf));
}

/**
 * @param header - X-Robots-Tag; several headers joined by commas are one
 * @param productToken - of this crawler, in any case
 */
export function headerDirectives(header: string, productToken: string): RobotsDirectives {
  const own = productToken.toLowerCase();
  const directives: string[] = [];
  /** Whom the next directives concern: a name holds until another one stands there. */
  let concernsUs = true;
  for (const part of header.slice(0, HEADER_CHARS_MAX).split(',')) {
    let rest = part;
    for (let colon = rest.indexOf(':'); colon >= 0; colon = rest.indexOf(':')) {
      const name = directiveOf(rest.slice(0, colon));
      if (VALUED.test(name)) break;
      concernsUs = name === own;
      rest = rest.slice(colon + 1);
    }
    if (concernsUs) directives.push(directiveOf(rest));
  }
  return said(directives);
}

/** The strictest of both. */
export function togetherDirectives(a: RobotsDirectives, b: RobotsDirectives): RobotsDirectives {
  return {
    noindex: a.noindex || b.noindex,
    nofollow: a.nofollow || b.nofollow,
    noarchive: a.noarchive || b.noarchive,
  };
}

function directiveOf(text: string): string {
  return text.trim().toLowerCase();
}

/**
 * Commas part directives; who forgets them means the same, and no directive has a blank in it. What
 * has a colon is one with a value (`max-image-preview: none`).
 */
function said(directives: readonly string[]): RobotsDirectives {
  const words = new Set(directives.flatMap((one) => (one.includes(':') ? [] : one.split(/\s+/))));
  const none = words.has('none');
  return {
    noindex: none || words.has('noindex'),
    nofollow: none || words.has('nofollow'),
    noarchive: none || words.has('noarchive') || words.has('nocache'),
  };
}
