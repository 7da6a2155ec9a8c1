// Reads a sitemap (sitemaps.org), an index of sitemaps, a feed (RSS, RDF, Atom) or a text file of
// URLs, packed with gzip or not, and gives the URLs in it. The body is unpacked and parsed piece by
// piece with the loop free in between, since fifty megabytes of XML are seconds of work; what is
// unpacked is capped, and never held as a whole. The page pipeline gives it every XML document and
// every declared sitemap; which of the URLs belong to the crawl is not asked here.

import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { otherWork } from '../runtime/other-work.ts';
import { type CrawlUrl, parseCrawlUrl, URL_CHARS_MAX } from '../url/crawl-url.ts';
import type { SitemapKind, SitemapXml } from './sitemap-xml.ts';

/** By the protocol, for one file. */
const URLS_MAX = 50_000;
/** By the protocol, unpacked. */
export const SITEMAP_BYTES_MAX = 50 * 1024 ** 2;
/** Parsed at a time: some five milliseconds. */
const PIECE_BYTES = 64 * 1024;
/** Bytes in which an XML declaration names its encoding. */
const DECLARATION_BYTES = 200;

export interface Sitemap {
  readonly kind: SitemapKind | 'text';
  /** Each once, in order. */
  readonly urls: readonly CrawlUrl[];
  /** Entries that are no http or https URL. */
  readonly refused: number;
  /** A cap was reached, or the packing broke off: these are not all. */
  readonly isPartial: boolean;
}

export interface SitemapOptions {
  /** Absolute URL of the file, against which feeds may be relative. */
  readonly url: string;
  /** Named as a sitemap somewhere, so that plain text is read as a list of URLs. */
  readonly declared: boolean;
  readonly bytesMax?: number;
  readonly urlsMax?: number;
}

/** @returns null for what is no sitemap; never rejects */
export async function readSitemap(
  body: Uint8Array,
  { url, declared, bytesMax = SITEMAP_BYTES_MAX, urlsMax = URLS_MAX }: SitemapOptions,
): Promise<Sitemap | null> {
  // It takes a while to load, and many a crawl has none.
  const { SitemapXml } = await import('./sitemap-xml.ts');
  const found = new Found(url, urlsMax);
  const xml = () => new SitemapXml((text) => found.add(text));
  const reader = new Reader((text) => found.add(text), { declared, xml });
  let bytes = 0;
  let isPartial = false;
  try {
    for await (const piece of piecesOf(body)) {
      const room = bytesMax - bytes;
      bytes += piece.length;
      reader.write(piece.length > room ? piece.subarray(0, room) : piece);
      isPartial = piece.length > room || found.isFull;
      if (isPartial || reader.isNone) break;
      await otherWork();
    }
  } catch {
    // Packing that breaks off: what came before it counts.
    isPartial = true;
  }
  const kind = reader.end();
  if (kind === null) return null;
  return { kind, urls: [...found.urls.values()], refused: found.refused, isPartial };
}

class Found {
  readonly urls = new Map<string, CrawlUrl>();
  refused = 0;
  readonly #base: string;
  readonly #max: number;

  constructor(base: string, max: number) {
    this.#base = base;
    this.#max = max;
  }

  get isFull(): boolean {
    return this.urls.size >= this.#max;
  }

  add(text: string): void {
    const trimmed = text.trim();
    if (trimmed === '' || this.isFull) return;
    const parsed = trimmed.length > URL_CHARS_MAX ? null : parseCrawlUrl(trimmed, this.#base);
    if (parsed === null || 'refused' in parsed) this.refused++;
    else if (!this.urls.has(parsed.identity)) this.urls.set(parsed.identity, parsed);
  }
}

/** Text out of bytes, and then XML or lines, by how the text begins. */
class Reader {
  readonly #add: (url: string) => void;
  readonly #declared: boolean;
  readonly #newXml: () => SitemapXml;
  #decoder: InstanceType<typeof TextDecoder> | null = null;
  #xml: SitemapXml | null = null;
  #isText = false;
  #line = '';
  isNone = false;

  constructor(
    add: (url: string) => void,
    { declared, xml }: { readonly declared: boolean; readonly xml: () => SitemapXml },
  ) {
    this.#add = add;
    this.#declared = declared;
    this.#newXml = xml;
  }

  write(bytes: Uint8Array): void {
    this.#decoder ??= new TextDecoder(encodingOf(bytes));
    this.#text(this.#decoder.decode(bytes, { stream: true }));
  }

  #text(text: string): void {
    if (this.isNone) return;
    if (!this.#xml && !this.#isText) {
      const first = text.trimStart()[0];
      if (first === undefined) return;
      if (first === '<') this.#xml = this.#newXml();
      else if (this.#declared) this.#isText = true;
      else this.isNone = true;
    }
    if (this.#xml) {
      this.#xml.write(text);
      this.isNone = this.#xml.isNone;
    } else if (this.#isText) this.#lines(text);
  }

  #lines(text: string): void {
    const lines = (this.#line + text).split(/\r\n?|\n/);
    this.#line = lines.pop()!.slice(0, 2 * URL_CHARS_MAX);
    // Relative lines would make links of any prose.
    for (const line of lines) if (/^\s*https?:/i.test(line)) this.#add(line);
  }

  end(): SitemapKind | 'text' | null {
    if (this.#decoder) this.#text(this.#decoder.decode());
    if (this.isNone) return null;
    if (this.#isText) this.#lines('\n');
    return this.#isText ? 'text' : (this.#xml?.end() ?? null);
  }
}

/** By its mark, else by its XML declaration, else UTF-8 as the protocol wants it. */
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

/** Unpacked where it begins as gzip does, whatever its name and type say. */
async function* piecesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  if (body[0] !== 0x1f || body[1] !== 0x8b) return yield* slicesOf(body);
  const source = Readable.from(slicesOf(body), { objectMode: false });
  const unpacked = createGunzip({ chunkSize: PIECE_BYTES });
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
