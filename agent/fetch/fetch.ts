/**
 * The fetch port: one GET in, one outcome out. Whatever a server or the network does becomes a
 * value, so a visit never has to guess which exception means what. Redirects are handed back and
 * nothing is tried twice here: both are decisions of the visit, under the host's politeness
 * delay. `got-fetcher.ts` is the adapter; `agent.ts` hands it to the visits.
 */

import type { RequestForm } from '../url/crawl-url.ts';
import type { BodyAccount } from './body/body-budget.ts';

/** One request; the headers common to all requests belong to the adapter. */
export interface FetchRequest {
  /** Absolute http or https URL in request form; userinfo, if any, is not sent. */
  readonly url: RequestForm;
  readonly kind: 'page' | 'robots';
  /** Cap on the decoded body: what lies beyond is not read, and the result says `truncated`. */
  readonly bodyBytesMax: number;
  /** Aborting ends the request at once, with code `aborted`. */
  readonly signal: AbortSignal;
  /**
   * The account on which the body reserves memory beyond what is free. While the body waits for
   * memory it is not read, and its total time stands still. Absent: no reservation is needed.
   */
  readonly account?: Pick<BodyAccount, 'reserve' | 'ended'>;
  /**
   * Asked synchronously when the connection is ready and before the first byte of the request is
   * written, and asked again before a repeat (`Repeat` in `call.ts`). False means that the fetch
   * right is gone: the connection is closed unused, code `no_right`. Must not throw.
   */
  readonly mayWrite: () => boolean;
  /**
   * The only address that the request may go to, as {@link AddressChoice} gives it: a connection to
   * another is closed unused, code `no_right`. Null: to none at all. Absent: to any.
   */
  readonly address?: string | null;
  /** Added to the adapter's headers; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type FetchResult = FetchResponse | FetchFailure;

/** The server answered with a status, and the body is whole or marked `truncated`. */
export interface FetchResponse {
  readonly kind: 'response';
  readonly status: number;
  /** As Node parses them: lower-case names, bytes above 0x7F as Latin-1. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The Content-Type header, trimmed; null where missing or empty. */
  readonly contentType: string | null;
  /** Decoded body. It owns its whole ArrayBuffer, which may therefore be transferred. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Body bytes received: after chunked framing, before content decoding. */
  readonly bytes: number;
  /**
   * The body is a prefix (possibly empty): the cap was reached, a type that holds no links was
   * skimmed, or, for a status other than 2xx only, the body broke off.
   */
  readonly truncated: boolean;
  /** Why not a byte of the body was read: its type is none of those wanted; else null. */
  readonly skipped: 'type' | null;
  /** Target of a 300, 301, 302, 303, 307 or 308 as text, still relative; null otherwise. */
  readonly location: string | null;
  /** Whether a request to `location` would bring cookies; absent: it would not. */
  readonly bringsCookies?: true;
  /** Wait that Retry-After asks for, from `endedAt`, 0 to 24 h; null where absent, garbage or 2xx. */
  readonly retryAfterMs: number | null;
  /** As it was on the wire; null unless the fetcher was asked to keep it. */
  readonly raw: RawExchange | null;
  readonly ip: string | null;
  /** From the call to `endedAt`, without the wait for memory. */
  readonly durationMs: number;
  /** Monotonic epoch milliseconds of the last body byte, error or abort. */
  readonly endedAt: number;
}

/** An exchange for the archive: heads with their empty line, each byte a character. */
export interface RawExchange {
  /** As requested: absolute, without fragment and userinfo. */
  readonly url: string;
  /** As written. */
  readonly requestHead: string;
  /**
   * As received, name by name, but that blanks around values are trimmed, and that a
   * Transfer-Encoding, which was undone, is told as X-Orig-Transfer-Encoding.
   */
  readonly responseHead: string;
  /** After the framing of the transfer and before content decoding. */
  readonly body: Uint8Array[];
  /** Why the body is only a prefix: a cap, the total time-out, the connection; null: it is whole. */
  readonly truncated: 'length' | 'time' | 'disconnect' | null;
}

/** No usable answer. Nothing of a partial body is kept. */
export interface FetchFailure {
  readonly kind: 'failure';
  readonly code: FetchFailureCode;
  /** For logs only; `code` is what may be compared. */
  readonly message: string;
  /** Whether bytes of the request may have reached the server. */
  readonly wrote: boolean;
  readonly ip: string | null;
  readonly durationMs: number;
  readonly endedAt: number;
}

/**
 * Stable codes, as they appear in `pages.error`.
 *
 * - `dns`: the name has no address, or the resolver failed
 * - `connect_refused`, `connect_failed`: no TCP connection; `connect_timeout`: no usable
 *   connection (name, TCP and TLS together) within `connectMs`
 * - `tls`: handshake or certificate refused
 * - `response_timeout`: no complete header within `responseMs`, 1xx responses included
 * - `total_timeout`: not finished within `totalMs`, however busily it drips, or slow while others
 *   wait for memory
 * - `reset`: the connection broke before the header or, by a reset, within the body
 * - `truncated_body`: the connection or the coding ended before the body did
 * - `http_syntax`, `headers_too_large`: not HTTP, or more header than is read
 * - `body_encoding`: content coding damaged
 * - `blocked_address`: the address guard refused the host or every address of it
 * - `no_right`: `mayWrite` said no, or the connection was to another address than asked for; `aborted`: the signal fired or the fetcher closed
 * - `unexpected`: anything else, such as a URL that does not parse; worth a bug report
 */
export type FetchFailureCode =
  | 'dns'
  | 'connect_refused'
  | 'connect_timeout'
  | 'connect_failed'
  | 'tls'
  | 'response_timeout'
  | 'total_timeout'
  | 'reset'
  | 'http_syntax'
  | 'headers_too_large'
  | 'body_encoding'
  | 'blocked_address'
  | 'no_right'
  | 'aborted'
  | 'truncated_body'
  | 'unexpected';

export interface Fetcher {
  /** Never throws and never rejects. */
  fetch(request: FetchRequest): Promise<FetchResult>;
  /** Ends open requests as `aborted` and closes every connection. */
  close(): Promise<void>;
}
