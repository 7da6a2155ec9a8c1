// Which elements and attributes hold links: those that lead a reader on, and, where they are wanted,
// those that a browser loads to show the page. The scanner reads no others.

/** Attributes that are read, by element: links, and what says whether links count. */
const ATTRIBUTES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['a', new Set(['href', 'xlink:href', 'rel'])],
  ['area', new Set(['href', 'rel'])],
  ['link', new Set(['href', 'rel', 'type'])],
  ['iframe', new Set(['src'])],
  ['frame', new Set(['src'])],
  ['base', new Set(['href'])],
  ['meta', new Set(['http-equiv', 'name', 'content'])],
  ['template', new Set(['shadowrootmode'])],
  ['annotation-xml', new Set(['encoding'])],
  ['input', new Set(['type'])],
  ['font', new Set(['color', 'face', 'size'])],
]);

/** Further ones where what a page shows is wanted as well. */
const EMBED_ATTRIBUTES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ...ATTRIBUTES,
  ['img', new Set(['src', 'srcset'])],
  ['source', new Set(['src', 'srcset'])],
  ['video', new Set(['src', 'poster'])],
  ['audio', new Set(['src'])],
  ['track', new Set(['src'])],
  ['embed', new Set(['src'])],
  ['object', new Set(['data'])],
  ['input', new Set(['type', 'src'])],
  ['script', new Set(['src'])],
  ['image', new Set(['href', 'xlink:href'])],
]);

/** Where a link may stand. */
export const PLACES = ['href', 'xlink:href', 'src', 'data', 'poster'] as const;

/**
 * Kinds of `link` that lead to pages. The rest is what a browser loads to show this page
 * (stylesheet, icon, preload, manifest), or ends of protocols (pingback, webmention, EditURI).
 */
const PAGE_RELATIONS = new Set(
  (
    'canonical alternate next prev previous first last start begin end up top home contents toc ' +
    'index chapter section subsection appendix glossary bookmark help about author search ' +
    'license copyright amphtml'
  ).split(' '),
);

/** Kinds of `link` that a browser loads to show the page. */
const EMBED_RELATIONS = new Set(
  'stylesheet icon apple-touch-icon mask-icon manifest preload modulepreload'.split(' '),
);

/** @returns the attributes to read, by element */
export function attributesRead(embeds: boolean): ReadonlyMap<string, ReadonlySet<string>> {
  return embeds ? EMBED_ATTRIBUTES : ATTRIBUTES;
}

/** @param relations - of a `link`, in lower case */
export function loadsWithPage(relations: readonly string[]): boolean {
  return relations.some((relation) => EMBED_RELATIONS.has(relation));
}

/** A `type` other than HTML marks feeds and the like, in which there are no links to find. */
export function leadsToPage(relations: readonly string[], type: string | undefined): boolean {
  if (relations.includes('stylesheet')) return false;
  if (type !== undefined && !/^\s*(text\/html|application\/xhtml\+xml)?\s*(;|$)/i.test(type)) {
    return false;
  }
  return relations.some((relation) => PAGE_RELATIONS.has(relation));
}
