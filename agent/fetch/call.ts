/**
 * What an exchange and the two ways of speaking HTTP have in common: a call makes one request on
 * a connection and tells what happens to it; deadlines, bodies and outcomes are the exchange's.
 * `http1-call.ts` and `http2-call.ts` make calls, `exchange.ts` starts one and listens.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { FetchFailureCode } from './fetch.ts';

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
  onFailure(error: Error): void;
  /** The operating system reports a reset, perhaps before a body that then looks whole. */
  onReset(): void;
}

export interface Call {
  /** For the archive: the request as written, or its like in HTTP/1.1. */
  requestHead(): string;
  /** Stops at once, and closes what would otherwise stay half used. */
  destroy(): void;
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
