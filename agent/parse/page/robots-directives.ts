// Reads what a page says to robots about itself, in `<meta name=robots>` or the X-Robots-Tag
// header. Both hold a list of directives, which may name the product token of one crawler. The
// directives that apply to this crawler are combined, so the strictest wins.

/** The directives that concern a crawler; all others concern search results. */
export interface RobotsDirectives {
  readonly noindex: boolean;
  /** The crawler must not follow the links of the page. */
  readonly nofollow: boolean;
  /** No copy of the page may be shown. */
  readonly noarchive: boolean;
}

export const NO_DIRECTIVES: RobotsDirectives = {
  noindex: false,
  nofollow: false,
  noarchive: false,
};

/** Directives with a value: the text before their colon is not the name of a crawler. */
const VALUED = /^(?:unavailable_after|max-snippet|max-image-preview|max-video-preview)$/;

/** Limit on the characters read of a field; one directive has about ten. */
const FIELD_CHARS_MAX = 8192;

/** @param content - the `content` attribute of a meta element that applies to this crawler */
export function metaDirectives(content: string): RobotsDirectives {
  return parsed(content.split(','));
}

/**
 * @param field - one field of the header X-Robots-Tag; a name in it does not apply to other fields
 * @param productToken - of this crawler, in upper or lower case
 */
export function headerDirectives(field: string, productToken: string): RobotsDirectives {
  const own = productToken.toLowerCase();
  const directives: string[] = [];
  /** Whether the next directives apply to this crawler: a name applies until the next name. */
  let concernsUs = true;
  for (const part of field.slice(0, FIELD_CHARS_MAX).split(',')) {
    let rest = part;
    for (let colon = rest.indexOf(':'); colon >= 0; colon = rest.indexOf(':')) {
      const name = rest.slice(0, colon).trim().toLowerCase();
      // A date has commas, and colons in its time: `Wed, 03 Sep 2025 15:00:00 GMT`.
      if (VALUED.test(name) || /\s/.test(name)) break;
      concernsUs = name === own;
      rest = rest.slice(colon + 1);
    }
    if (concernsUs) directives.push(rest);
  }
  return parsed(directives);
}

/** Combines both; the strictest wins. */
export function togetherDirectives(a: RobotsDirectives, b: RobotsDirectives): RobotsDirectives {
  return {
    noindex: a.noindex || b.noindex,
    nofollow: a.nofollow || b.nofollow,
    noarchive: a.noarchive || b.noarchive,
  };
}

/**
 * Reads directives that were separated by commas. Blanks separate them as well, because some pages
 * omit the commas and no directive contains a blank. An entry with a colon is a directive with a
 * value, such as `max-image-preview: none`, and is ignored.
 */
function parsed(directives: readonly string[]): RobotsDirectives {
  const valueless = directives.filter((directive) => !directive.includes(':'));
  const words = new Set(valueless.flatMap((directive) => directive.toLowerCase().split(/\s+/)));
  const none = words.has('none');
  return {
    noindex: none || words.has('noindex'),
    nofollow: none || words.has('nofollow'),
    noarchive: none || words.has('noarchive') || words.has('nocache'),
  };
}
