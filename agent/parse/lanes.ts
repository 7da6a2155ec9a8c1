// Two pools of threads: one for most pages, which takes milliseconds for each, and one for large
// bodies and packed sitemaps, which may take seconds. So no page waits for a sitemap of another host.
// The threads of the second are started with the first body for them; many a crawl has none.

import type { PageInput, ParsedPage } from './page.ts';
import { ParsePool, type ParsePoolOptions } from './pool.ts';
import { isPacked } from './sitemap-body.ts';

/** Larger than nearly all pages; one of this size takes some tenths of a second at worst. */
const LARGE_BODY_BYTES = 512 * 1024;

export class ParseLanes {
  readonly #ordinary: ParsePool;
  readonly #large: ParsePool;

  /** @param options - of the pool for most pages; the other has half as many threads, one at least */
  constructor(options: ParsePoolOptions) {
    this.#ordinary = new ParsePool(options);
    this.#large = new ParsePool({ ...options, workers: Math.ceil(options.workers / 2) });
  }

  /** As {@link ParsePool.parse}. */
  parse(input: PageInput, others: number): Promise<ParsedPage> {
    return (isLarge(input) ? this.#large : this.#ordinary).parse(input, others);
  }

  /** Starts a thread for pages before there is one: later there may not be what it takes. */
  start(): void {
    this.#ordinary.start();
  }

  async close(): Promise<void> {
    await Promise.all([this.#ordinary.close(), this.#large.close()]);
  }
}

/** A packed sitemap is as small as its sender likes. */
function isLarge({ body, sitemap }: PageInput): boolean {
  return body.byteLength > LARGE_BODY_BYTES || (sitemap !== undefined && isPacked(body));
}
