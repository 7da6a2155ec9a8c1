// Three pools of threads, so that no page waits for one that takes seconds: one for most pages, which
// takes milliseconds for each; one for large bodies and packed sitemaps, which gives up a body after
// some tenths of a second; and one for what was given up there, which starts again and takes what it
// needs. A host of which one body was slow has its next ones go there directly, so it costs the others
// one such wait. The threads of the second and third start with the first body for them.

import type { PageInput, ParsedPage } from './page/page.ts';
import { ParseError, ParsePool, type ParsePoolOptions } from './parse-pool.ts';
import { isPacked } from './sitemap/sitemap-body.ts';

/** Larger than nearly all pages; one of this size takes some tenths of a second at worst. */
const LARGE_BODY_BYTES = 512 * 1024;
/** Hardly any body of this size is parsed within `LARGE_CPU_MS`; it is not tried, and not copied. */
const SLOW_BODY_BYTES = 8 * 1024 * 1024;
/** A page of a mebibyte needs a third of this, once its thread is warm. */
const LARGE_CPU_MS = 300;
/** Hosts whose bodies are slow are remembered up to this number: some hundred kilobytes. */
const SLOW_HOSTS_MAX = 1000;

export class ParseLanes {
  readonly #ordinary: ParsePool;
  readonly #large: ParsePool;
  readonly #slow: ParsePool;
  /** The oldest first. */
  readonly #slowHosts = new Set<string>();

  /** @param options - of the pool for most pages; each other has half as many threads, one at least */
  constructor(options: ParsePoolOptions) {
    this.#ordinary = new ParsePool(options);
    const fewer = { ...options, workers: Math.ceil(options.workers / 2) };
    this.#large = new ParsePool({ ...fewer, cpuMs: LARGE_CPU_MS, oneByOne: true });
    this.#slow = new ParsePool(fewer);
  }

  /** As {@link ParsePool.parse}. */
  parse(input: PageInput, others: number): Promise<ParsedPage> {
    return isLarge(input) ? this.#parseLarge(input) : this.#ordinary.parse(input, others);
  }

  async #parseLarge(input: PageInput): Promise<ParsedPage> {
    const { host } = new URL(input.url);
    if (input.body.byteLength <= SLOW_BODY_BYTES && !this.#slowHosts.has(host)) {
      try {
        return await this.#large.parse(input);
      } catch (error) {
        if (!(error instanceof ParseError) || error.code !== 'parse_timeout') throw error;
        this.#remember(host);
      }
    }
    return this.#slow.parse(input);
  }

  #remember(host: string): void {
    this.#slowHosts.add(host);
    if (this.#slowHosts.size <= SLOW_HOSTS_MAX) return;
    const [oldest] = this.#slowHosts;
    this.#slowHosts.delete(oldest!);
  }

  /** Starts a thread for pages before there is one: later there may not be what it takes. */
  start(): void {
    this.#ordinary.start();
  }

  async close(): Promise<void> {
    await Promise.all([this.#ordinary.close(), this.#large.close(), this.#slow.close()]);
  }
}

/** A packed sitemap is as small as its sender likes. */
function isLarge({ body, sitemap }: PageInput): boolean {
  return body.byteLength > LARGE_BODY_BYTES || (sitemap !== undefined && isPacked(body));
}
