// Parses pages in three pools of threads, so that no page waits for one that takes seconds. The
// first pool parses most pages, in milliseconds each. The second parses large bodies and compressed
// sitemaps, and aborts a body after some tenths of a second. The third parses aborted bodies from
// their start, without that limit. Once a body of a host was aborted, its large bodies go directly
// to the third pool, so that other pages wait for it only once.

import type { PageInput, ParsedPage } from './page/page.ts';
import { ParseError, ParsePool, type ParsePoolOptions, sizeOf } from './parse-pool.ts';

/** Larger bodies go to the second pool. One of this size takes tenths of a second at worst. */
const LARGE_BODY_BYTES = 512 * 1024;
/** Larger bodies go to the third pool, without a copy: `LARGE_CPU_MS` is too short for them. */
const SLOW_BODY_BYTES = 8 * 1024 * 1024;
/** CPU time after which the second pool aborts a body. One of 1 MiB needs a third of it. */
const LARGE_CPU_MS = 300;
/** Limit on remembered slow hosts: some hundred kilobytes. */
const SLOW_HOSTS_MAX = 1000;

export class ParseLanes {
  readonly #ordinary: ParsePool;
  readonly #large: ParsePool;
  readonly #slow: ParsePool;
  /** In the order of insertion. */
  readonly #slowHosts = new Set<string>();

  /** @param options - of the first pool; the others have half as many threads, rounded up */
  constructor(options: ParsePoolOptions) {
    this.#ordinary = new ParsePool(options);
    const fewer = { ...options, workers: Math.ceil(options.workers / 2) };
    this.#large = new ParsePool({ ...fewer, cpuMs: LARGE_CPU_MS, oneByOne: true });
    this.#slow = new ParsePool(fewer);
  }

  /** See {@link ParsePool.parse}. */
  parse(input: PageInput, others: number): Promise<ParsedPage> {
    const isLarge = sizeOf(input) > LARGE_BODY_BYTES;
    return isLarge ? this.#parseLarge(input) : this.#ordinary.parse(input, others);
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

  /** Starts a thread before the first page comes: later, the resources for it may be missing. */
  start(): void {
    this.#ordinary.start();
  }

  async close(): Promise<void> {
    await Promise.all([this.#ordinary.close(), this.#large.close(), this.#slow.close()]);
  }
}
