// The XML of sitemaps and feeds, as it comes: which element is the root says what the file is, and
// in which elements its URLs stand. Prefixes are dropped from names, except where another
// vocabulary has the same name (`image:loc`). Used by `read-sitemap.ts`.

import { Parser } from 'htmlparser2';

export type SitemapKind = 'urls' | 'index' | 'feed';

const KINDS: Readonly<Record<string, SitemapKind>> = {
  urlset: 'urls',
  sitemapindex: 'index',
  rss: 'feed',
  RDF: 'feed',
  feed: 'feed',
};
/** Parent and name of the elements whose text is a URL. */
const TEXTS: ReadonlySet<string> = new Set(['url loc', 'sitemap loc', 'item link', 'channel link']);
/** Text of one element; longer is no URL. */
const TEXT_CHARS_MAX = 16_384;
/** Elements within one another; sitemaps have three, feeds five. */
const DEPTH_MAX = 64;

export class SitemapXml {
  readonly #add: (url: string) => void;
  readonly #parser: Parser;
  readonly #path: string[] = [];
  #kind: SitemapKind | null = null;
  /** The prefix of the root, which its vocabulary has in the whole file. */
  #prefix = '';
  /** Text of the element at hand; null where it is no URL. */
  #text: string | null = null;
  /** The root is that of something else, or it is nested beyond sense. */
  isNone = false;

  constructor(add: (url: string) => void) {
    this.#add = add;
    this.#parser = new Parser(
      {
        onopentag: (name, attributes) => this.#open(name, attributes),
        ontext: (text) => this.#onText(text),
        onclosetag: () => this.#close(),
      },
      { xmlMode: true, decodeEntities: true },
    );
  }

  write(text: string): void {
    if (!this.isNone) this.#parser.write(text);
  }

  /** @returns what the file was, null if it was none */
  end(): SitemapKind | null {
    if (!this.isNone) this.#parser.end();
    return this.isNone ? null : this.#kind;
  }

  #open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (this.isNone) return;
    const [prefix, local] = splitName(name);
    if (this.#path.length === 0) this.#root(prefix, local);
    const parent = this.#path.at(-1);
    this.#path.push(local);
    if (this.#path.length > DEPTH_MAX) this.isNone = true;
    const isOwn = prefix === this.#prefix || (this.#kind === 'feed' && prefix === '');
    this.#text = isOwn && TEXTS.has(`${parent} ${local}`) ? '' : null;
    if (!isOwn || local !== 'link' || (parent !== 'entry' && parent !== 'feed')) return;
    const { href, rel = 'alternate' } = attributes;
    if (href !== undefined && (rel === 'alternate' || rel === 'next')) this.#add(href);
  }

  #root(prefix: string, local: string): void {
    this.#kind = KINDS[local] ?? null;
    this.#prefix = prefix;
    if (this.#kind === null) this.isNone = true;
  }

  #onText(text: string): void {
    if (this.#text !== null && this.#text.length < TEXT_CHARS_MAX) this.#text += text;
  }

  #close(): void {
    this.#path.pop();
    if (this.#text !== null && !this.isNone) this.#add(this.#text);
    this.#text = null;
  }
}

function splitName(name: string): [prefix: string, local: string] {
  const colon = name.indexOf(':');
  return colon < 0 ? ['', name] : [name.slice(0, colon), name.slice(colon + 1)];
}
