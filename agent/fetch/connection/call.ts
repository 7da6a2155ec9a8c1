/**
 * What an exchange and the two ways of speaking HTTP have in common: a call makes one request on
 * a connection and tells what happens to it; deadlines, bodies and outcomes are the exchange's.
 * `http1-call.ts` and `http2-call.ts` make calls, `exchange.ts` starts one and listens.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { FetchFailureCode } from '../fetch.ts';

/** What is sent; header names in lower case. */
export interface CallRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Where a new connection goes; null: wherever the name leads. */
  readonly address: string | null;
}

/** A response up to its body. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** For the archive: status line, fields and the empty line, each byte a character. */
  readonly text: () => string;
}

/** The body, after the framing of the transfer is undone. */
export interface BodyStream {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  once(event: 'end', listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** Where a call reports. Nothing is told after the first failure or the end of the body. */
export interface CallEvents {
  /**
   * The connection stands and nothing of the request is written.
   *
   * @param ip the server's address; null where a proxy is in between.
   * @returns whether the request may be written; if not, the call is over.
   */
  onReady(ip: string | null): boolean;
  onHead(head: ResponseHead, body: BodyStream): void;
  /**
   * The request is repeated, since the server did not process it or the connection had gone: a
   * connection is looked for again, and `onReady` follows.
   */
  onRepeat(): void;
  onFailure(error: Error): void;
  /** The operating system reports a reset, perhaps before a body that then looks whole. */
  onReset(): void;
}

/**
 * What the end of an exchange says of its connection: `sound`, the caller wanted no more of it;
 * `doubtful`, the request failed on it, so that the next one goes over another.
 */
export type ConnectionVerdict = 'sound' | 'doubtful';

export interface Call {
  /** For the archive: the request as written, or its like in HTTP/1.1. */
  requestHead(): string;
  /** Stops at once, and closes what would otherwise stay half used. */
  destroy(connection: ConnectionVerdict): void;
}

/** A failure that whoever noticed it has named already. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: FetchFailureCode;

  constructor(code: FetchFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** How a request that failed before any of its response came may be made again at once. */
export type Repeat =
  /** The server has not processed it (RFC 9113, section 8.7): on any connection. */
  | 'unprocessed'
  /** The server had closed a connection that was used before: on a new one. */
  | 'stale'
  /** The server wants HTTP/1.1 for it (HTTP_1_1_REQUIRED). */
  | 'http1';

/** A failure after which the request may be repeated without waiting. */
export class RepeatableError extends CallError {
  readonly repeat: Repeat;

  constructor(repeat: Repeat, message: string) {
    super('reset', message);
    this.repeat = repeat;
  }
}
