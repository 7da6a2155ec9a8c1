/**
 * The fetcher on Node's own HTTP client, without a library in between: a third of the processor
 * time of a request on got, and a tenth of a second less at the start. ADR 0022 has the figures;
 * `fetching.ts` loads it where `http.client` is `node`.
 */

import type { Fetcher } from '../fetch.ts';
import { createHttpFetcher, type HttpFetcherOptions } from './http-fetcher.ts';

/** @returns a fetcher that holds no connection until it is used. */
export function createNodeFetcher(options: HttpFetcherOptions): Fetcher {
  return createHttpFetcher(options, null);
}
