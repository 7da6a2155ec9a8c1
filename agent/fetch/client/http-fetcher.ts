/**
 * The fetch port over HTTP: one exchange a request, on connections of one pool. Which program
 * speaks HTTP/1.1 is for two small files beside it, `got-fetcher.ts` and `node-fetcher.ts`; guard,
 * time-outs, bodies, cookies and the choice of HTTP/2 are the same here for both.
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
  /** Unix milliseconds by the wall clock, against which Retry-After dates are measured. */
  readonly wallNow: () => number;
  /** Resolves names; the system's resolver by default. */
  readonly lookup?: Lookup;
  /** Idle connections kept for each scheme; {@link IDLE_CONNECTIONS_MAX} by default. */
  readonly idleConnectionsMax?: number;
  /** Age at which an idle connection is closed; {@link IDLE_MS} by default. */
  readonly idleMs?: number;
  /** Whether results hold the exchange as it was on the wire, for the archive; false by default. */
  readonly keepRaw?: boolean;
  /** PEM of authorities trusted besides those that Node brings. */
  readonly certificateAuthority?: string;
  /** Whether a server must prove its name by a certificate; true by default. */
  readonly verifyCertificates?: boolean;
  /** Whether https servers may choose HTTP/2; true by default. */
  readonly http2?: boolean;
  /** An http URL, perhaps with user and password; null, the default, is none. */
  readonly proxy?: string | null;
  /** Whether cookies are kept and sent; false by default. */
  readonly cookies?: boolean;
  /** Types of pages that are read, such as `text/*`; null, the default, is all. */
  readonly contentTypes?: readonly string[] | null;
}

/** Twice the default threads: enough for every host in progress, far below any file limit. */
const IDLE_CONNECTIONS_MAX = 128;
/** Under the 5 s after which Node and Apache close: see `ConnectionPoolOptions.idleMs`. */
const IDLE_MS = 4000;

const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/**
 * An archive keeps bodies as coded, and is for readers of years to come: those in use undo gzip
 * and deflate everywhere, the later codings only in places.
 */
const CODINGS = { live: 'gzip, deflate, br, zstd', archived: 'gzip, deflate' };

/**
 * @param client speaks HTTP/1.1; null: Node itself does.
 * @returns a fetcher that holds no connection until it is used.
 */
export function createHttpFetcher(options: HttpFetcherOptions, client: Got | null): Fetcher {
  const pool = createConnectionPool({
    guard: options.guard,
    lookup: options.lookup ?? systemLookup,
    idleMax: options.idleConnectionsMax ?? IDLE_CONNECTIONS_MAX,
    idleMs: options.idleMs ?? IDLE_MS,
    verifyCertificates: options.verifyCertificates ?? true,
    offerHttp2: options.http2 ?? true,
    proxy: options.proxy ? parseProxy(options.proxy) : null,
    now: options.now,
    ...(options.certificateAuthority === undefined
      ? {}
      : { certificateAuthority: options.certificateAuthority }),
  });
  const keepRaw = options.keepRaw ?? false;
  const headers = {
    'user-agent': options.userAgent,
    accept: ACCEPT,
    'accept-encoding': keepRaw ? CODINGS.archived : CODINGS.live,
  };
  const contentTypes = options.contentTypes ? new ContentTypes(options.contentTypes) : null;
  const cookies = options.cookies ? new CookieJar() : null;
  const { guard, timeouts, now, wallNow } = options;
  return new HttpFetcher({
    ...{ client, pool, headers, contentTypes, cookies },
    ...{ guard, timeouts, keepRaw, now, wallNow },
  });
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
    if (this.#closed) {
      exchange.abort();
    }
    const result = await outcome;
    this.#open.delete(exchange);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const exchange of this.#open) {
      exchange.abort();
    }
    this.#context.pool.close();
  }
}
