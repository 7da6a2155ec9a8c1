/**
 * The fetch port over HTTP: one exchange per request, on the connections of one pool. The HTTP/1.1
 * client is a parameter. Address guard, timeouts, bodies, cookies and HTTP/2 are the same for every
 * client.
 */

import type { Got } from 'got';
import type { AddressGuard } from '../address/address-guard.ts';
import { type Lookup, systemLookup } from '../address/dial.ts';
import { parseProxy } from '../address/proxy.ts';
import { createConnectionPool } from '../connection/connection-pool.ts';
import type { Fetcher, FetchRequest, FetchResult } from '../fetch.ts';
import { ContentTypes } from './content-types.ts';
import { CookieJar } from './cookie-jar.ts';
import { Exchange, type ExchangeContext, type FetchTimeouts } from './exchange.ts';

export interface HttpFetcherOptions {
  readonly userAgent: string;
  readonly timeouts: FetchTimeouts;
  readonly guard: AddressGuard;
  /** Monotonic epoch milliseconds: `performance.timeOrigin + performance.now()`. */
  readonly now: () => number;
  /** Unix milliseconds. Retry-After dates are compared with this clock. */
  readonly wallNow: () => number;
  /** Resolves names; the system's resolver by default. */
  readonly lookup?: Lookup;
  /** Idle connections kept per scheme; {@link IDLE_CONNECTIONS_MAX} by default. */
  readonly idleConnectionsMax?: number;
  /** Time in ms after which an idle connection is closed; {@link IDLE_MS} by default. */
  readonly idleMs?: number;
  /**
   * Whether results include the exchange as sent and received, for the archive; false by default.
   */
  readonly keepRaw?: boolean;
  /** PEM of certificate authorities trusted in addition to those of Node. */
  readonly certificateAuthority?: string;
  /** Whether server certificates are verified; true by default. */
  readonly verifyCertificates?: boolean;
  /** Whether https servers may choose HTTP/2; true by default. */
  readonly http2?: boolean;
  /** An http URL, optionally with user and password. Null, the default: no proxy. */
  readonly proxy?: string | null;
  /** Whether cookies are kept and sent; false by default. */
  readonly cookies?: boolean;
  /** Media types of pages to read, such as `text/*`. Null, the default: all types. */
  readonly contentTypes?: readonly string[] | null;
}

/**
 * Twice the default number of threads: enough for every host in progress, and far below any limit
 * on open files.
 */
const IDLE_CONNECTIONS_MAX = 128;
/** Milliseconds. For the upper bound see `ConnectionPoolOptions.idleMs`. */
const IDLE_MS = 4000;

const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/**
 * An archive keeps bodies as they were coded and must be readable for years. All archive readers
 * decode gzip and deflate, but only some decode newer codings.
 */
const CODINGS = { live: 'gzip, deflate, br, zstd', archived: 'gzip, deflate' };

/**
 * @param client speaks HTTP/1.1; null: Node does.
 * @returns a fetcher; it opens no connection before the first request.
 */
export function createHttpFetcher(options: HttpFetcherOptions, client: Got | null): Fetcher {
  const pool = createConnectionPool({
    ...options,
    lookup: options.lookup ?? systemLookup,
    connectMs: options.timeouts.connectMs,
    idleMax: options.idleConnectionsMax ?? IDLE_CONNECTIONS_MAX,
    idleMs: options.idleMs ?? IDLE_MS,
    verifyCertificates: options.verifyCertificates ?? true,
    offerHttp2: options.http2 ?? true,
    proxy: options.proxy ? parseProxy(options.proxy) : null,
  });
  const keepRaw = options.keepRaw ?? false;
  const headers = {
    'user-agent': options.userAgent,
    accept: ACCEPT,
    'accept-encoding': keepRaw ? CODINGS.archived : CODINGS.live,
  };
  const contentTypes = options.contentTypes ? new ContentTypes(options.contentTypes) : null;
  const cookies = options.cookies ? new CookieJar() : null;
  return new HttpFetcher({ ...options, client, pool, headers, contentTypes, cookies, keepRaw });
}

class HttpFetcher implements Fetcher {
  readonly #context: ExchangeContext;
  readonly #open = new Set<Exchange>();
  #closed = false;

  constructor(context: ExchangeContext) {
    this.#context = context;
  }

  async fetch(request: FetchRequest): Promise<FetchResult> {
    const exchange = new Exchange(request, this.#context);
    this.#open.add(exchange);
    const outcome = exchange.run();
    if (this.#closed) exchange.abort();
    const result = await outcome;
    this.#open.delete(exchange);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const exchange of this.#open) exchange.abort();
    this.#context.pool.close();
  }
}
