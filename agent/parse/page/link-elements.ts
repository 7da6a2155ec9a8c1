// Lists the elements and attributes that hold links: links that a reader can follow and, if the
// crawl wants them, files that a browser loads to show the page.

/** Attributes to read, by element: links, and attributes that decide whether links count. */
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

/** The same, with the attributes that name the files of a page. */
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

/** Attributes whose value is one URL. */
export const PLACES = ['href', 'xlink:href', 'src', 'data', 'poster'] as const;

/**
 * `rel` values of `link` that lead to pages. Others name files that a browser loads to show this
 * page (stylesheet, icon, preload, manifest) or protocol endpoints (pingback, EditURI).
 */
const PAGE_RELATIONS = new Set(
  (
    'canonical alternate next prev previous first last start begin end up top home contents toc ' +
    'index chapter section subsection appendix glossary bookmark help about author search ' +
    'license copyright amphtml'
  ).split(' '),
);

/** `rel` values of `link` whose files a browser loads to show the page. */
const EMBED_RELATIONS = new Set(
  'stylesheet icon apple-touch-icon mask-icon manifest preload modulepreload'.split(' '),
);

/** @returns the attributes to read, by element */
export function attributesRead(embeds: boolean): ReadonlyMap<string, ReadonlySet<string>> {
  return embeds ? EMBED_ATTRIBUTES : ATTRIBUTES;
}

/** @param relations - `rel` values of a `link`, in lower case */
export function loadsWithPage(relations: readonly string[]): boolean {
  return relations.some((relation) => EMBED_RELATIONS.has(relation));
}

/** A `type` other than HTML names a feed or a similar file, which is not a page. */
export function leadsToPage(relations: readonly string[], type: string | undefined): boolean {
  if (relations.includes('stylesheet')) return false;
  if (type !== undefined && !/^\s*(text\/html|application\/xhtml\+xml)?\s*(;|$)/i.test(type)) {
    return false;
  }
  return relations.some((relation) => PAGE_RELATIONS.has(relation));
}
