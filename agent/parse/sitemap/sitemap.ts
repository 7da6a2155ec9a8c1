// Reads a sitemap (sitemaps.org), a sitemap index, a feed (RSS, RDF, Atom) or a text file of URLs,
// compressed with gzip or not, and returns its URLs. The body is unpacked and parsed piece by
// piece, up to a limit, and is never unpacked as a whole. The URLs are not filtered here.

import { Readable } from 'node:stream';
import { GzipMembers } from '../../coding/gzip-members.ts';
import { type CrawlUrl, parseCrawlUrl, URL_CHARS_MAX } from '../../url/crawl-url.ts';
import { isPacked, SITEMAP_BYTES_MAX } from './sitemap-body.ts';
import { type SitemapKind, SitemapXml } from './sitemap-xml.ts';

/** Limit of the sitemap protocol on the URLs of one file. */
const URLS_MAX = 50_000;
/** Bytes that are unpacked and parsed at a time. */
const PIECE_BYTES = 64 * 1024;
/**
 * Limit on the characters of all URLs of one file, which are sent to the main thread: 320 for each
 * URL that the protocol allows. A relative URL in a feed may be much longer once resolved.
 */
const CHARS_MAX = 16_000_000;
/**
 * Limit on the characters read to resolve entries, where the URL of the file counts again for each:
 * a second of CPU time. A file within the limits of the protocol needs less if its own URL has at
 * most 340 characters.
 */
const RESOLVED_CHARS_MAX = 80_000_000;
/** Fixed cost of an entry, as the number of characters that take the same time. */
const ENTRY_CHARS = 256;
/** Bytes in which an XML declaration is searched for an encoding. */
const DECLARATION_BYTES = 200;

export interface Sitemap {
  readonly kind: SitemapKind | 'text';
  /** In order, without duplicates. */
  readonly urls: readonly CrawlUrl[];
  /** Entries that are not crawlable URLs. */
  readonly refused: number;
  /**
   * Whether a limit was reached or the compressed data was damaged, so that URLs may be missing.
   */
  readonly isPartial: boolean;
}

export interface SitemapOptions {
  /** Absolute URL of the file, against which the relative URLs of feeds are resolved. */
  readonly url: string;
  /** Whether something names the file as a sitemap. Plain text is then read as a list of URLs. */
  readonly declared: boolean;
  readonly bytesMax?: number;
  readonly urlsMax?: number;
}

/** @returns null if the body is not a sitemap; never rejects */
export async function readSitemap(
  body: Uint8Array,
  { url, declared, bytesMax = SITEMAP_BYTES_MAX, urlsMax = URLS_MAX }: SitemapOptions,
): Promise<Sitemap | null> {
  const found = new Found(url, urlsMax);
  const reader = new Reader((text) => found.add(text), declared);
  let bytes = 0;
  let isPartial = false;
  try {
    for await (const piece of piecesOf(body)) {
      const room = bytesMax - bytes;
      bytes += piece.length;
      reader.write(piece.length > room ? piece.subarray(0, room) : piece);
      isPartial = piece.length > room || found.isFull;
      if (isPartial || reader.isNoSitemap) break;
    }
  } catch {
    // The compressed data is damaged: the URLs before the damage count.
    isPartial = true;
  }
  const kind = reader.end(isPartial);
  if (kind === null) return null;
  return { kind, urls: [...found.urls.values()], refused: found.refused, isPartial };
}

class Found {
  readonly urls = new Map<string, CrawlUrl>();
  refused = 0;
  #chars = 0;
  #resolvedChars = 0;
  readonly #base: string;
  readonly #max: number;

  constructor(base: string, max: number) {
    this.#base = base;
    this.#max = max;
  }

  get isFull(): boolean {
    if (this.#chars >= CHARS_MAX || this.#resolvedChars >= RESOLVED_CHARS_MAX) return true;
    return this.urls.size >= this.#max;
  }

  add(text: string): void {
    const trimmed = text.trim();
    if (trimmed === '' || this.isFull) return;
    const parsed = trimmed.length > URL_CHARS_MAX ? null : this.#resolved(trimmed);
    if (parsed === null) this.refused++;
    else if (!this.urls.has(parsed.identity)) {
      this.#chars += parsed.identity.length;
      this.urls.set(parsed.identity, parsed);
    }
  }

  /** @returns null if the URL is not crawlable, or too long once it is resolved and escaped */
  #resolved(text: string): CrawlUrl | null {
    this.#resolvedChars += ENTRY_CHARS + this.#base.length + text.length;
    const parsed = parseCrawlUrl(text, this.#base);
    if ('refused' in parsed) return null;
    return Math.max(parsed.identity.length, parsed.fetchUrl.length) > URL_CHARS_MAX ? null : parsed;
  }
}

/** Decodes bytes, and reads the text as XML or as lines, depending on how it begins. */
class Reader {
  readonly #add: (url: string) => void;
  readonly #declared: boolean;
  #decoder: InstanceType<typeof TextDecoder> | null = null;
  #xml: SitemapXml | null = null;
  #isText = false;
  #line = '';
  isNoSitemap = false;

  constructor(add: (url: string) => void, declared: boolean) {
    this.#add = add;
    this.#declared = declared;
  }

  write(bytes: Uint8Array): void {
    this.#decoder ??= new TextDecoder(encodingOf(bytes));
    this.#text(this.#decoder.decode(bytes, { stream: true }));
  }

  #text(text: string): void {
    if (this.isNoSitemap) return;
    if (!this.#xml && !this.#isText) {
      const first = text.trimStart()[0];
      if (first === undefined) return;
      if (first === '<') this.#xml = new SitemapXml(this.#add);
      else if (this.#declared) this.#isText = true;
      else this.isNoSitemap = true;
    }
    if (this.#xml) {
      this.#xml.write(text);
      this.isNoSitemap = this.#xml.isNoSitemap;
    } else if (this.#isText) this.#lines(text);
  }

  #lines(text: string): void {
    const lines = (this.#line + text).split(/\r\n?|\n/);
    this.#line = lines.pop()!.slice(0, 2 * URL_CHARS_MAX);
    // Only absolute URLs count; else any prose would be links.
    for (const line of lines) if (/^\s*https?:/i.test(line)) this.#add(line);
  }

  /** @param isPartial - whether the last line may lack a part of its URL */
  end(isPartial: boolean): SitemapKind | 'text' | null {
    if (this.#decoder) this.#text(this.#decoder.decode());
    if (this.isNoSitemap) return null;
    if (this.#isText && !isPartial) this.#lines('\n');
    return this.#isText ? 'text' : (this.#xml?.end() ?? null);
  }
}

/** From the byte order mark, else from the XML declaration, else UTF-8 as the protocol requires. */
function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  const start = Buffer.from(bytes.subarray(0, DECLARATION_BYTES)).toString('latin1');
  const named = /^<\?xml[^>]*?encoding\s*=\s*["']([\w:.-]+)["']/.exec(start)?.[1];
  try {
    return named === undefined || /^utf-?16/i.test(named)
      ? 'utf-8'
      : new TextDecoder(named).encoding;
  } catch {
    return 'utf-8';
  }
}

async function* piecesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  if (!isPacked(body)) return yield* slicesOf(body);
  const source = Readable.from(slicesOf(body), { objectMode: false });
  const unpacked = new GzipMembers({ chunkSize: PIECE_BYTES });
  source.on('error', (error) => unpacked.destroy(error));
  try {
    yield* source.pipe(unpacked) as AsyncIterable<Buffer>;
  } finally {
    source.destroy();
    unpacked.destroy();
  }
}

function* slicesOf(body: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}
