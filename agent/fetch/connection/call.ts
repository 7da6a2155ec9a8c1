/**
 * The interface between an exchange and the HTTP clients. A call makes one request on a connection
 * and reports what happens to it. Timeouts, bodies and results belong to the exchange.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { FetchFailureCode } from '../fetch.ts';

/**
 * Limit on the names and values of a response header, in bytes. Set explicitly, because Node's
 * default for HTTP/1.1 has changed before, and the one for HTTP/2 is four times this.
 */
export const HEADER_BYTES_MAX = 16 * 1024;

/** Emitters can report errors after their last use. Without a listener these end the process. */
export const ignoreError = () => {};

export interface CallRequest {
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Address for a new connection; null: any address of the host name. */
  readonly address: string | null;
}

/** A response up to its body. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * For the archive: status line, fields and the empty line; each character stands for one byte.
   */
  readonly text: () => string;
}

/** The body after transfer decoding. */
export interface BodyStream {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  once(event: 'end', listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** Receives the events of a call. No event follows the first failure or the end of the body. */
export interface CallEvents {
  /**
   * The connection is ready, and nothing of the request is written.
   *
   * @param ip address of the server; null behind a proxy.
   * @returns whether the request may be written; if not, the call ends.
   */
  onReady(ip: string | null): boolean;
  onHead(head: ResponseHead, body: BodyStream): void;
  /**
   * The request is repeated, because the server did not process it or the connection was closed.
   * The call selects a connection again, and `onReady` follows.
   */
  onRepeat(): void;
  onFailure(error: Error): void;
  /**
   * The operating system reports a reset, possibly before the end of a body that looks complete.
   */
  onReset(): void;
}

/**
 * State of the connection at the end of an exchange. `sound`: the caller wanted nothing more of it.
 * `doubtful`: the request failed on it, so the next request uses another connection.
 */
export type ConnectionVerdict = 'sound' | 'doubtful';

export interface Call {
  /** For the archive: the request as written, or its HTTP/1.1 equivalent. */
  requestHead(): string;
  /** Stops the call at once and closes what would otherwise stay half used. */
  destroy(connection: ConnectionVerdict): void;
}

/** A failure with a known code. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: FetchFailureCode;

  constructor(code: FetchFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** How a request that failed before its response began is repeated. */
export type Repeat =
  /** The server did not process it (RFC 9113, section 8.7): repeat on any connection. */
  | 'unprocessed'
  /** The server had closed a reused connection: repeat on a new one. */
  | 'stale'
  /** The server demands HTTP/1.1 (HTTP_1_1_REQUIRED). */
  | 'http1';

/** A failure after which the request may be repeated at once (`http-call.ts` limits this). */
export class RepeatableError extends CallError {
  readonly repeat: Repeat;

  constructor(repeat: Repeat, message: string) {
    super('reset', message);
    this.repeat = repeat;
  }
}
