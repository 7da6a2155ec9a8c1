// Reads the XML of sitemaps and feeds as it arrives. The root element determines what the file is
// and which elements hold its URLs. It uses htmlparser2's Tokenizer, because the Parser builds an
// object of all attributes of an element and keeps every piece in which a token began. Here, the
// memory is limited to the last piece, the names of the open elements and one URL. Prefixes are
// removed from names, unless another vocabulary has the same name (`image:loc`).

import { decodeXML } from 'entities/decode';
import { type TokenizerCallbacks as Callbacks, Tokenizer } from 'htmlparser2';

export type SitemapKind = 'urls' | 'index' | 'feed';

const KINDS: ReadonlyMap<string, SitemapKind> = new Map([
  ['urlset', 'urls'],
  ['sitemapindex', 'index'],
  ['rss', 'feed'],
  ['RDF', 'feed'],
  ['feed', 'feed'],
]);
/** Parent and name of the elements whose text is a URL. */
const TEXTS: ReadonlySet<string> = new Set(['url loc', 'sitemap loc', 'item link', 'channel link']);
/**
 * Limit on the characters of a text or an attribute value, as written; longer ones are not URLs.
 */
const TEXT_CHARS_MAX = 16_384;
/** Limit on the characters of a name. Longer names count as the empty name. */
const NAME_CHARS_MAX = 256;
/** Limit on nested elements; sitemaps have three levels, feeds five. */
const DEPTH_MAX = 64;

/** Attributes of an Atom link. */
type Attribute = 'href' | 'rel';

interface Element {
  readonly name: string;
  /** The name without its prefix. */
  readonly local: string;
}

export class SitemapXml implements Callbacks {
  readonly #add: (url: string) => void;
  readonly #tokenizer: Tokenizer;
  /** The open elements. */
  readonly #path: Element[] = [];
  #kind: SitemapKind | null = null;
  /** The prefix of the root, which its vocabulary has in the whole file. */
  #prefix = '';
  /** The last piece, after as much text as a token that began earlier may need. */
  #window = '';
  /** Where the window begins in the whole text. */
  #windowAt = 0;
  /** The current start tag. */
  #tag: Element = { name: '', local: '' };
  #isLink = false;
  #attribute: Attribute | null = null;
  readonly #attributes = new Map<Attribute, string>();
  /** Decoded text of the current element; null if it is not a URL. */
  #text: string | null = null;
  /** Text or value that is not decoded yet. */
  #raw = '';
  /** Whether the file is not a sitemap, by its root, or is nested too deeply. */
  isNoSitemap = false;

  constructor(add: (url: string) => void) {
    this.#add = add;
    // Text and values that count are decoded here; the tokenizer skips the others faster.
    this.#tokenizer = new Tokenizer({ xmlMode: true, decodeEntities: false }, this);
  }

  write(text: string): void {
    if (this.isNoSitemap) return;
    const kept = this.#window.slice(-TEXT_CHARS_MAX);
    this.#windowAt += this.#window.length - kept.length;
    this.#window = kept + text;
    this.#tokenizer.write(text);
  }

  /** @returns the kind of the file; null if it is not a sitemap */
  end(): SitemapKind | null {
    // The text of an unclosed element is dropped: a part of its URL may be missing.
    return this.isNoSitemap ? null : this.#kind;
  }

  onopentagname(start: number, end: number): void {
    this.#tag = elementOf(this.#slice(start, end, NAME_CHARS_MAX) ?? '');
    const { name, local } = this.#tag;
    if (this.#path.length === 0) this.#root(name, local);
    const parent = this.#path.at(-1)?.local;
    const isAtom = parent === 'entry' || parent === 'feed';
    this.#isLink = isAtom && local === 'link' && this.#isOwn(this.#tag);
    this.#attributes.clear();
  }

  onattribname(start: number, end: number): void {
    const name = this.#isLink ? this.#slice(start, end, NAME_CHARS_MAX) : null;
    this.#attribute = name === 'href' || name === 'rel' ? name : null;
    // The first of several attributes with the same name counts.
    if (this.#attribute !== null && this.#attributes.has(this.#attribute)) this.#attribute = null;
    this.#raw = '';
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute !== null) this.#collect(start, end);
  }

  onattribend(): void {
    if (this.#attribute === null) return;
    if (this.#raw.length <= TEXT_CHARS_MAX) {
      this.#attributes.set(this.#attribute, decodeXML(this.#raw));
    }
    this.#attribute = null;
  }

  onopentagend(): void {
    const parent = this.#path.at(-1)?.local;
    this.#path.push(this.#tag);
    if (this.#path.length > DEPTH_MAX) this.isNoSitemap = true;
    const hasUrl = TEXTS.has(`${parent} ${this.#tag.local}`) && this.#isOwn(this.#tag);
    this.#text = hasUrl ? '' : null;
    this.#raw = '';
    if (this.#isLink) this.#link();
  }

  onselfclosingtag(): void {
    this.onopentagend();
    this.#path.pop();
    this.#text = null;
  }

  /** Also closes the elements inside it. An end tag of an element that is not open is ignored. */
  onclosetag(start: number, end: number): void {
    this.#decode();
    const name = this.#slice(start, end, NAME_CHARS_MAX) ?? '';
    const at = this.#path.findLastIndex((element) => element.name === name);
    if (at < 0) return;
    this.#path.length = at;
    if (this.#text !== null && !this.isNoSitemap) this.#add(this.#text);
    this.#text = null;
  }

  ontext(start: number, end: number): void {
    if (this.#text !== null) this.#collect(start, end);
  }

  oncdata(start: number, end: number, endOffset: number): void {
    this.#decode();
    if (this.#text === null) return;
    const text = this.#slice(start, end - endOffset, TEXT_CHARS_MAX);
    this.#text = text === null ? null : this.#text + text;
  }

  oncomment(): void {
    this.#decode();
  }

  onprocessinginstruction(): void {
    this.#decode();
  }

  ondeclaration(): void {}
  onattribentity(): void {}
  ontextentity(): void {}
  onend(): void {}

  #root(name: string, local: string): void {
    this.#kind = KINDS.get(local) ?? null;
    this.#prefix = prefixOf(name);
    if (this.#kind === null) this.isNoSitemap = true;
  }

  #isOwn({ name }: Element): boolean {
    const prefix = prefixOf(name);
    return prefix === this.#prefix || (this.#kind === 'feed' && prefix === '');
  }

  #link(): void {
    const href = this.#attributes.get('href');
    const rel = this.#attributes.get('rel') ?? 'alternate';
    if (href === undefined || this.isNoSitemap) return;
    if (rel === 'alternate' || rel === 'next') this.#add(href);
  }

  /** One character beyond the limit is kept, to show that there were more. */
  #collect(start: number, end: number): void {
    const room = TEXT_CHARS_MAX + 1 - this.#raw.length;
    if (room > 0) this.#raw += this.#slice(start, Math.min(end, start + room), room);
  }

  /** Drops a text that was cut off: decoded, it might be short enough to pass as complete. */
  #decode(): void {
    if (this.#text === null) return;
    const isCut = this.#text.length + this.#raw.length > TEXT_CHARS_MAX;
    this.#text = isCut ? null : this.#text + decodeXML(this.#raw);
    this.#raw = '';
  }

  /** @returns null for more than `charsMax` characters, which may reach beyond the window */
  #slice(start: number, end: number, charsMax: number): string | null {
    if (end - start > charsMax) return null;
    return this.#window.slice(start - this.#windowAt, end - this.#windowAt);
  }
}

function elementOf(name: string): Element {
  return { name, local: name.slice(name.indexOf(':') + 1) };
}

function prefixOf(name: string): string {
  return name.slice(0, Math.max(name.indexOf(':'), 0));
}
