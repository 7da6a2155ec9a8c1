/**
 * One request from call to outcome: guard, connect, ask for the right, write, header, body. It
 * holds the three time-outs, of which the total is absolute, since idle timers never end a body
 * that drips; and it settles exactly once, after which everything it started is closed and late
 * events fall on deaf listeners. `got-fetcher.ts` makes one for each fetch.
 */

import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Got, Request as GotRequest } from 'got';
import type { AddressGuard } from './address-guard.ts';
import { bodyCap } from './body-cap.ts';
import { type BodyEnd, BodyReader } from './body-reader.ts';
import type { ConnectionPool, Dialing, PooledRequestOptions } from './connection-pool.ts';
import { failureCode, isReset } from './failure-code.ts';
import type { FetchFailureCode, FetchRequest, FetchResult, RawExchange } from './fetch.ts';
import { requestHead, responseHead } from './raw-heads.ts';
import { readContentType, readLocation } from './response-headers.ts';
import { parseRetryAfter } from './retry-after.ts';

export interface FetchTimeouts {
  /** From the call to a usable connection: name, TCP and TLS together. */
  readonly connectMs: number;
  /** From writing the request to the end of the response header. */
  readonly responseMs: number;
  /** From the call to the last byte of the body. */
  readonly totalMs: number;
}

/** What all exchanges of a fetcher share. */
export interface ExchangeContext {
  readonly client: Got;
  readonly pool: ConnectionPool;
  readonly guard: AddressGuard;
  readonly timeouts: FetchTimeouts;
  /** Whether results hold the exchange as it was on the wire. */
  readonly keepRaw: boolean;
  /** Monotonic epoch milliseconds. */
  readonly now: () => number;
  /** Unix milliseconds by the wall clock, for dates in headers. */
  readonly wallNow: () => number;
}

/** Header bytes read, names and values; named because Node's own default has changed before. */
const HEADER_BYTES_MAX = 16 * 1024;

/** These end with the header whatever Content-Length says; bytes after it belong to nobody. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

const ROBOTS_HEADERS = { accept: 'text/plain,text/*;q=0.8,*/*;q=0.5' };

/** Emitters report errors after their last use too; one without a listener ends the process. */
const ignoreError = () => {};

export class Exchange {
  readonly #request: FetchRequest;
  readonly #context: ExchangeContext;
  readonly #startedAt: number;
  readonly #dialing: Dialing = { cancelDial: null };
  readonly #onAbort = () => this.#fail('aborted', 'aborted by the caller');
  #resolve: (result: FetchResult) => void = ignoreError;
  #settled = false;
  #stream: GotRequest | null = null;
  #sent: ClientRequest | null = null;
  #response: IncomingMessage | null = null;
  /** Body as received, for the archive; stays empty where nobody wants it. */
  readonly #received: Uint8Array[] = [];
  #reader: BodyReader | null = null;
  #phaseTimer: NodeJS.Timeout | undefined;
  #totalTimer: NodeJS.Timeout | undefined;
  #wrote = false;
  #ip: string | null = null;
  #reset = false;
  #lastByteAt: number | null = null;

  constructor(request: FetchRequest, context: ExchangeContext) {
    this.#request = request;
    this.#context = context;
    this.#startedAt = context.now();
  }

  /** Runs to the outcome; to be called once. Never rejects. */
  run(): Promise<FetchResult> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      try {
        this.#start();
      } catch (error) {
        this.#fail('unexpected', String(error));
      }
    });
  }

  /** Ends the exchange from outside, as the signal would. */
  abort(): void {
    this.#onAbort();
  }

  #start(): void {
    const { url: text, signal } = this.#request;
    const url = URL.parse(text);
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      this.#fail('unexpected', 'not an http or https URL');
      return;
    }
    const reason = this.#context.guard.checkHostLiteral(url.hostname);
    if (reason !== null) {
      this.#fail('blocked_address', `${url.hostname} is ${reason}`);
      return;
    }
    if (signal.aborted) {
      this.#onAbort();
      return;
    }
    signal.addEventListener('abort', this.#onAbort, { once: true });
    const { connectMs, totalMs } = this.#context.timeouts;
    this.#totalTimer = setTimeout(() => this.#breakOff('total_timeout', `${totalMs} ms`), totalMs);
    this.#startPhase('connect_timeout', connectMs);
    url.username = '';
    url.password = '';
    this.#send(url);
  }

  #send(url: URL): void {
    const { kind, headers } = this.#request;
    const stream = this.#context.client.stream(url, {
      request: (target, options) => this.#open(target, options.headers),
      headers: { ...(kind === 'robots' ? ROBOTS_HEADERS : {}), ...headers },
    });
    this.#stream = stream;
    stream.on('error', (error: Error) => this.#onError(error));
    stream.once('response', (response: IncomingMessage) => this.#onResponse(response));
    stream.once('upgrade', (_response: IncomingMessage, socket: Duplex) => {
      socket.destroy();
      this.#fail('http_syntax', 'upgrade that nobody asked for');
    });
  }

  #open(url: URL, headers: http.RequestOptions['headers']): ClientRequest {
    const secure = url.protocol === 'https:';
    const options: PooledRequestOptions = {
      agent: secure ? this.#context.pool.https : this.#context.pool.http,
      headers: headers ?? {},
      maxHeaderSize: HEADER_BYTES_MAX,
      dialing: this.#dialing,
    };
    const request = (secure ? https : http).request(url, options);
    this.#sent = request;
    request.on('error', (error) => {
      this.#reset ||= isReset(error);
    });
    request.once('socket', (socket: Socket) => this.#onReady(socket));
    return request;
  }

  /**
   * The pool hands over finished connections only, and Node flushes the request after this
   * event's listeners: destroying the socket here means that not one byte of it leaves.
   */
  #onReady(socket: Socket): void {
    this.#ip = socket.remoteAddress ?? null;
    if (this.#settled) {
      socket.destroy();
    } else if (this.#request.mayWrite()) {
      this.#wrote = true;
      this.#startPhase('response_timeout', this.#context.timeouts.responseMs);
    } else {
      socket.destroy();
      this.#fail('no_right', 'the fetch right was lost while connecting');
    }
  }

  #onResponse(response: IncomingMessage): void {
    response.on('error', ignoreError);
    if (this.#settled) {
      return;
    }
    clearTimeout(this.#phaseTimer);
    this.#response = response;
    const stream = this.#stream!;
    const status = response.statusCode ?? 0;
    if (BODILESS.has(status)) {
      stream.resume();
      this.#succeed(null, 'keep');
      return;
    }
    const { kind, bodyBytesMax } = this.#request;
    const cap = bodyCap(
      kind,
      status,
      readContentType(response.headers['content-type']),
      bodyBytesMax,
    );
    const encoding = response.headers['content-encoding'];
    const reader = new BodyReader(encoding, cap, stream, (end) => this.#onBodyEnd(end));
    this.#reader = reader;
    stream.on('data', (chunk: Uint8Array) => {
      if (this.#context.keepRaw && !this.#settled) this.#received.push(chunk);
      reader.push(chunk);
    });
    stream.once('end', () => {
      this.#lastByteAt = this.#context.now();
      if (this.#reset) {
        // A body that only the end of the connection delimits looks whole after a reset.
        this.#breakOff('reset', 'connection reset within the body');
      } else {
        reader.finish();
      }
    });
  }

  #onBodyEnd(end: BodyEnd): void {
    switch (end.kind) {
      case 'whole':
        this.#succeed(null, 'keep');
        return;
      case 'cut':
        this.#succeed('length', 'close');
        return;
      default:
        this.#breakOff(end.code, end.message);
    }
  }

  #onError(error: Error): void {
    const where = this.#response === null ? 'request' : 'body';
    const code = failureCode(error, where);
    this.#breakOff(code === 'truncated_body' && this.#reset ? 'reset' : code, error.message);
  }

  /**
   * A failure that keeps the header where it decides anyway: a redirect, a 404 or a Retry-After
   * says all it has to say before its body. A body of a 2xx is a page and is whole or nothing.
   */
  #breakOff(code: FetchFailureCode, message: string): void {
    const status = this.#response?.statusCode ?? 0;
    if (status < 300) {
      this.#fail(code, message);
    } else {
      this.#succeed(code === 'total_timeout' ? 'time' : 'disconnect', 'close');
    }
  }

  #startPhase(code: 'connect_timeout' | 'response_timeout', phaseMs: number): void {
    clearTimeout(this.#phaseTimer);
    this.#phaseTimer = setTimeout(() => this.#fail(code, `${phaseMs} ms`), phaseMs);
  }

  #succeed(truncated: RawExchange['truncated'], connection: 'keep' | 'close'): void {
    const response = this.#response!;
    if (!this.#settle(connection)) {
      return;
    }
    const { headers } = response;
    const status = response.statusCode ?? 0;
    this.#resolve({
      kind: 'response',
      status,
      headers,
      contentType: readContentType(headers['content-type']),
      body: this.#reader?.take() ?? new Uint8Array(0),
      bytes: this.#reader?.received ?? 0,
      truncated: truncated !== null,
      location: readLocation(status, headers.location),
      retryAfterMs: parseRetryAfter(headers['retry-after'], this.#context.wallNow()),
      raw: this.#context.keepRaw ? this.#raw(response, truncated) : null,
      ...this.#timing(),
    });
  }

  #raw(response: IncomingMessage, truncated: RawExchange['truncated']): RawExchange {
    const url = new URL(this.#request.url);
    for (const part of ['hash', 'username', 'password'] as const) url[part] = '';
    return {
      url: url.href,
      requestHead: requestHead(this.#sent!),
      responseHead: responseHead(response),
      body: this.#received,
      truncated,
    };
  }

  #fail(code: FetchFailureCode, message: string): void {
    if (this.#settle('close')) {
      this.#resolve({ kind: 'failure', code, message, wrote: this.#wrote, ...this.#timing() });
    }
  }

  /** @returns false where the outcome was known already. */
  #settle(connection: 'keep' | 'close'): boolean {
    if (this.#settled) {
      return false;
    }
    this.#settled = true;
    this.#lastByteAt ??= this.#context.now();
    clearTimeout(this.#phaseTimer);
    clearTimeout(this.#totalTimer);
    this.#request.signal.removeEventListener('abort', this.#onAbort);
    this.#reader?.stop();
    if (connection === 'close') {
      this.#stream?.destroy();
      this.#dialing.cancelDial?.();
    }
    return true;
  }

  #timing() {
    const endedAt = this.#lastByteAt ?? this.#context.now();
    return { ip: this.#ip, durationMs: endedAt - this.#startedAt, endedAt };
  }
}
