/**
 * The default fetcher, on got. got's retries, redirects and decompression are off, because the
 * crawler has its own. This is a separate module so that got is loaded only if the config selects
 * it.
 */

import got from 'got';
import type { Fetcher } from '../fetch.ts';
import { createHttpFetcher, type HttpFetcherOptions } from './http-fetcher.ts';

/** @returns a fetcher; it opens no connection before the first request. */
export function createGotFetcher(options: HttpFetcherOptions): Fetcher {
  const client = got.extend({
    followRedirect: false,
    throwHttpErrors: false,
    retry: { limit: 0 },
    decompress: false,
  });
  return createHttpFetcher(options, client);
}
