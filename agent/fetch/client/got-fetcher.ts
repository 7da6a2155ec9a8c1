/**
 * The fetcher on got, the default. got is asked for as little as possible: one instance with its
 * options merged once, no retries, redirects, hooks, cookies, cache or time-outs, which this
 * crawler decides elsewhere or stricter. Loaded by `fetching.ts` only where the config wants it.
 */

import got from 'got';
import type { Fetcher } from '../fetch.ts';
import { createHttpFetcher, type HttpFetcherOptions } from './http-fetcher.ts';

/** @returns a fetcher that holds no connection until it is used. */
export function createGotFetcher(options: HttpFetcherOptions): Fetcher {
  const client = got.extend({
    followRedirect: false,
    throwHttpErrors: false,
    retry: { limit: 0 },
    decompress: false,
  });
  return createHttpFetcher(options, client);
}
