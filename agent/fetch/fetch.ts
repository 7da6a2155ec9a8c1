/**
 * The fetch port: one GET request in, one result out. Failures of a server or of the network are
 * values with a code, so callers do not interpret exceptions. A fetcher does not follow redirects.
 * It repeats a request only as `Repeat` in `call.ts` allows. All other retries are for the caller,
 * under the politeness delay of the host.
 */

import type { RequestForm } from '../url/crawl-url.ts';
import type { BodyAccount } from './body/body-budget.ts';

/** One request. The fetcher adds the headers that all requests share. */
export interface FetchRequest {
  /** Absolute http or https URL in request form. Userinfo is not sent. */
  readonly url: RequestForm;
  readonly kind: 'page' | 'robots';
  /** Limit on the decoded body. The rest is not read, and the response is marked `truncated`. */
  readonly bodyBytesMax: number;
  /** Aborting it ends the request at once, with code `aborted`. */
  readonly signal: AbortSignal;
  /**
   * Reserves memory for the part of a body beyond `BODY_BYTES_FREE`. While the body waits for
   * memory, it is not read and the total timeout does not run. Absent: nothing is reserved.
   */
  readonly account?: Pick<BodyAccount, 'reserve' | 'ended'>;
  /**
   * Called synchronously when the connection is ready, before the first byte of the request is
   * written, and again before a repeat (`Repeat` in `call.ts`). False means that the agent has lost
   * the fetch right: nothing is written, and the code is `no_right`. Must not throw.
   */
  readonly mayWrite: () => boolean;
  /**
   * The only address that the request may go to, in the spelling of `addressKey`. Nothing is
   * written to another address; the code is then `no_right`. Null: no address is allowed. Absent:
   * any address is allowed.
   */
  readonly address?: string | null;
  /** Added to the fetcher's headers, and override them. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type FetchResult = FetchResponse | FetchFailure;

/** The server sent a response. Its body is complete unless `truncated` is set. */
export interface FetchResponse {
  readonly kind: 'response';
  readonly status: number;
  /**
   * As Node parses them: names in lower case, bytes above 0x7F as Latin-1 characters. The fields of
   * X-Robots-Tag are a list.
   */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /**
   * The Content-Type header, trimmed. If it lists several types, the effective one. Null if absent
   * or empty.
   */
  readonly contentType: string | null;
  /** Decoded body. It owns its whole ArrayBuffer, so the buffer can be transferred. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Body bytes received: after transfer decoding, before content decoding. */
  readonly bytes: number;
  /**
   * The body is a prefix, possibly empty: a limit was reached, the body of this type or status is
   * not read in full, or, for a status of 300 or above, the transfer failed or timed out.
   */
  readonly truncated: boolean;
  /** `type` if the body was not read because its type is not among the wanted types; else null. */
  readonly skipped: 'type' | null;
  /** Location of a 300, 301, 302, 303, 307 or 308 response, not yet resolved; null otherwise. */
  readonly location: string | null;
  /** Present if a request to `location` would send cookies. */
  readonly bringsCookies?: true;
  /**
   * Wait that Retry-After asks for, counted from `endedAt`: 0 to 24 h. Null if it is absent or
   * invalid, or the status is below 300.
   */
  readonly retryAfterMs: number | null;
  /** The exchange as sent and received; null unless the fetcher keeps it. */
  readonly raw: RawExchange | null;
  readonly ip: string | null;
  /** From the call to `endedAt`, without the time spent waiting for memory. */
  readonly durationMs: number;
  /** Monotonic epoch milliseconds of the last body byte, the error or the abort. */
  readonly endedAt: number;
}

/**
 * An exchange for the archive. Heads include the empty line; each character stands for one byte.
 */
export interface RawExchange {
  /** Absolute, without fragment and userinfo. */
  readonly url: string;
  /** As sent; for HTTP/2, the equivalent HTTP/1.1 head. */
  readonly requestHead: string;
  /**
   * As received, field by field, but whitespace around values is trimmed. Transfer-Encoding is
   * renamed to X-Orig-Transfer-Encoding, because `body` is no longer transfer-coded.
   */
  readonly responseHead: string;
  /** After transfer decoding and before content decoding. */
  readonly body: Uint8Array[];
  /**
   * Why the body is a prefix: a limit, the total timeout or the connection. Null: it is complete.
   */
  readonly truncated: 'length' | 'time' | 'disconnect' | null;
}

/** The request failed. A partial body is discarded. */
export interface FetchFailure {
  readonly kind: 'failure';
  readonly code: FetchFailureCode;
  /** For logs only. Compare `code`, not this text. */
  readonly message: string;
  /** Whether bytes of the request may have reached the server. */
  readonly wrote: boolean;
  readonly ip: string | null;
  readonly durationMs: number;
  readonly endedAt: number;
}

/**
 * Stable failure codes, as stored in `pages.error`.
 *
 * - `dns`: the name has no address, or the resolver failed
 * - `connect_refused`, `connect_failed`: no TCP connection
 * - `connect_timeout`: no usable connection (DNS, TCP and TLS together) within `connectMs`
 * - `tls`: handshake failed or certificate refused
 * - `response_timeout`: no complete header within `responseMs`; 1xx responses do not count
 * - `total_timeout`: not finished within `totalMs`, or too slow while other bodies wait for memory
 * - `reset`: the connection broke before the header, or was reset within the body
 * - `truncated_body`: the connection or the content coding ended before the body did
 * - `http_syntax`: not HTTP
 * - `headers_too_large`: the header exceeds the limit
 * - `body_encoding`: the content coding is damaged
 * - `blocked_address`: the address guard refused the URL or every address of its host
 * - `no_right`: `mayWrite` returned false, or the connection was to another address than `address`
 * - `aborted`: the signal fired or the fetcher was closed
 * - `unexpected`: any other failure, such as a URL that does not parse; worth a bug report
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
  /** Ends open requests with code `aborted` and closes every connection. */
  close(): Promise<void>;
}
