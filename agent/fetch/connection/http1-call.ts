/**
 * One HTTP/1.1 request, on got or on Node's own client. Both get the request that `#open` makes on
 * a ready connection of the pool. If the server chose HTTP/2 for the new connection, nothing was
 * written, and the call ends with `onHttp2`.
 */

import type { EventEmitter } from 'node:events';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Got } from 'got';
import { requestTarget } from '../../url/request-target.ts';
import { DialError } from '../address/dial.ts';
import {
  type BodyStream,
  type Call,
  CallError,
  type CallEvents,
  type CallRequest,
  HEADER_BYTES_MAX,
  ignoreError,
  RepeatableError,
} from './call.ts';
import {
  type ConnectionPool,
  type Dialing,
  Http2Chosen,
  type PooledRequestOptions,
} from './connection-pool.ts';
import { isReset } from './failure-code.ts';
import { requestHead, responseHead } from './raw-heads.ts';
import { filterResponse, type ResponseFilter } from './response-filter.ts';
import { severalFields } from './response-headers.ts';

const PROXY_AUTHENTICATION_REQUIRED = 407;

export interface Http1CallOptions {
  /** Null: Node's own client. */
  readonly client: Got | null;
  readonly pool: ConnectionPool;
  /** Nothing was written: the request is to be made on the pool's HTTP/2 connection. */
  readonly onHttp2: () => void;
}

export class Http1Call implements Call {
  readonly #request: CallRequest;
  readonly #events: CallEvents;
  readonly #options: Http1CallOptions;
  readonly #dialing: Dialing;
  /** Destroying it ends the request. */
  readonly #stream: { destroy(): unknown };
  #sent: ClientRequest | null = null;
  /** Bytes that the connection had received before this request; null until it is ready. */
  #readBefore: number | null = null;
  #filter: ResponseFilter | null = null;
  #destroyed = false;

  constructor(request: CallRequest, events: CallEvents, options: Http1CallOptions) {
    this.#request = request;
    this.#events = events;
    this.#options = options;
    this.#dialing = { cancelDial: null, address: request.address };
    this.#stream = options.client === null ? this.#plainly() : this.#onGot(options.client);
  }

  #onGot(client: Got): { destroy(): unknown } {
    const { url, headers } = this.#request;
    const stream = client.stream(url, {
      request: (target, { headers }) => this.#open(target, headers),
      headers,
    });
    this.#listen(stream, (response) => this.#onResponse(response, stream));
    return stream;
  }

  #plainly(): { destroy(): unknown } {
    const { url, headers } = this.#request;
    const request = this.#open(url, headers);
    this.#listen(request, (response) => {
      // If the connection breaks within the body, only the response emits the error.
      response.on('error', (error) => this.#onError(error));
      this.#onResponse(response, response);
    });
    request.end();
    return request;
  }

  #listen(source: EventEmitter, onResponse: (response: IncomingMessage) => void): void {
    source.on('error', (error: Error) => this.#onError(error));
    source.once('response', onResponse);
    source.once('upgrade', (_response: IncomingMessage, socket: Duplex) => {
      socket.destroy();
      this.#events.onFailure(new CallError('http_syntax', 'unexpected protocol upgrade'));
    });
  }

  requestHead(): string {
    const head = requestHead(this.#sent!);
    const { url } = this.#request;
    if (!this.#viaProxy()) return head;
    // The archive gets the request as the server sees it.
    return head
      .replace(/^GET \S+ /, () => `GET ${requestTarget(url)} `)
      .replace(/^proxy-[^\r]*\r\n/gim, '');
  }

  /** Ignores the verdict: an unfinished response leaves the connection unusable. */
  destroy(): void {
    this.#destroyed = true;
    this.#stream.destroy();
    this.#dialing.cancelDial?.();
  }

  #viaProxy(): boolean {
    return this.#options.pool.proxy !== null && this.#request.url.protocol === 'http:';
  }

  #open(url: URL, headers: http.RequestOptions['headers']): ClientRequest {
    const { pool } = this.#options;
    const secure = url.protocol === 'https:';
    const options: PooledRequestOptions = {
      agent: secure ? pool.https : pool.http,
      headers: headers ?? {},
      maxHeaderSize: HEADER_BYTES_MAX,
      dialing: this.#dialing,
      path: requestTarget(this.#request.url),
    };
    if (pool.proxy !== null && !secure) {
      options.path = `http://${url.host}${options.path}`;
      options.headers = { ...headers, ...pool.proxy.headers };
    }
    const request = (secure ? https : http).request(url, options);
    this.#sent = request;
    if (pool.repeated.has(this.#request.url.host)) this.#closeAfter();
    request.on('error', (error) => {
      if (isReset(error) && !this.#isStale(error)) this.#events.onReset();
    });
    request.once('socket', (socket: Socket) => this.#onReady(socket, request));
    return request;
  }

  /**
   * The pool assigns only ready connections, and Node writes the request after the listeners of
   * this event. If the socket is destroyed here, no byte of the request is sent.
   */
  #onReady(socket: Socket, request: ClientRequest): void {
    const ip = this.#options.pool.proxy === null ? (socket.remoteAddress ?? null) : null;
    this.#readBefore = socket.bytesRead;
    if (this.#destroyed || !this.#events.onReady(ip)) {
      socket.destroy();
      return;
    }
    const onOdd = () => this.#closeAfter();
    this.#filter = filterResponse(socket, HEADER_BYTES_MAX, { request, onOdd });
  }

  /**
   * Whether the server had closed a reused connection before any byte of a response arrived (RFC
   * 9112, section 9.3.1).
   */
  #isStale(error: Error): boolean {
    const sent = this.#sent;
    if (sent === null || !sent.reusedSocket || this.#destroyed) return false;
    const { code } = (error.cause ?? error) as NodeJS.ErrnoException;
    const isClosed = isReset(error) || code === 'ECONNRESET' || code === 'EPIPE';
    return isClosed && sent.socket?.bytesRead === this.#readBefore;
  }

  #onResponse(response: IncomingMessage, body: BodyStream): void {
    response.on('error', ignoreError);
    if (this.#destroyed) return;
    const { statusCode: status = 0, headers: first, rawHeaders } = response;
    if (status === PROXY_AUTHENTICATION_REQUIRED && this.#viaProxy()) {
      // Only a proxy sends 407 (RFC 9110, section 15.5.8), so the server did not get the request.
      this.#events.onFailure(
        new DialError('connect_failed', `the proxy responded with status ${status}`),
      );
      return this.destroy();
    }
    const headers = { ...first, ...severalFields(rawHeaders) };
    const text = () => this.#filter?.oddHead ?? responseHead(response);
    this.#events.onHead({ status, headers, text }, body);
  }

  /**
   * Closes the connection after this response. Node reads this internal property at the end of the
   * response.
   */
  #closeAfter(): void {
    (this.#sent as { shouldKeepAlive?: boolean }).shouldKeepAlive = false;
  }

  #onError(error: Error): void {
    if ((error.cause ?? error) instanceof Http2Chosen) {
      if (!this.#destroyed) this.#options.onHttp2();
    } else if (this.#isStale(error)) {
      this.#events.onFailure(new RepeatableError('stale', error.message));
    } else {
      this.#events.onFailure(error);
    }
  }
}
