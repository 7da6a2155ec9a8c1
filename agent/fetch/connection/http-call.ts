/**
 * Chooses the protocol of a request: HTTP/2 if the pool has such a connection to the host, else
 * HTTP/1.1. If the server chooses HTTP/2 while the connection is opened, the call changes to it
 * before anything is written. A request that the server did not process is repeated at once (RFC
 * 9113, section 8.7), which is not a failure of the host. This happens once per host and ten
 * minutes, because it ignores the delay of the host: a server may refuse each page once. A demand
 * for HTTP/1.1 is obeyed at once, too, which is remembered for an hour.
 */

import type { Got } from 'got';
import { addressKey } from '../address/address-choice.ts';
import {
  type Call,
  CallError,
  type CallEvents,
  type CallRequest,
  type ConnectionVerdict,
  RepeatableError,
} from './call.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { Http1Call } from './http1-call.ts';
import { Http2Call } from './http2-call.ts';

export interface CallParts {
  /** Speaks HTTP/1.1; null: Node does. */
  readonly client: Got | null;
  readonly pool: ConnectionPool;
}

export class HttpCall implements Call {
  readonly #request: CallRequest;
  readonly #events: CallEvents;
  readonly #parts: CallParts;
  #current: Call;

  constructor(request: CallRequest, events: CallEvents, parts: CallParts) {
    this.#request = request;
    this.#events = {
      onReady: (ip) => events.onReady(ip),
      onHead: (head, body) => events.onHead(head, body),
      onRepeat: () => events.onRepeat(),
      onReset: () => events.onReset(),
      onFailure: (error) => {
        if (!this.#repeats(error)) events.onFailure(error);
      },
    };
    this.#parts = parts;
    this.#current = this.#overHttp2() ?? this.#overHttp1();
  }

  requestHead(): string {
    return this.#current.requestHead();
  }

  destroy(connection: ConnectionVerdict): void {
    this.#current.destroy(connection);
  }

  /** @returns whether the request is repeated. */
  #repeats(error: Error): boolean {
    if (!(error instanceof RepeatableError)) return false;
    const { repeat } = error;
    const { host } = this.#request.url;
    const { http1Only, repeated } = this.#parts.pool;
    const done = repeat === 'http1' ? http1Only : repeated;
    // The failure is reported, and the retry waits.
    if (done.has(host)) return false;
    done.add(host);
    this.#current.destroy(repeat === 'unprocessed' ? 'sound' : 'doubtful');
    this.#events.onRepeat();
    this.#current = this.#overHttp2() ?? this.#overHttp1();
    return true;
  }

  #overHttp1(): Call {
    const { client, pool } = this.#parts;
    return new Http1Call(this.#request, this.#events, {
      client,
      pool,
      onHttp2: () => this.#onHttp2(),
    });
  }

  #onHttp2(): void {
    const call = this.#overHttp2();
    if (call !== null) {
      this.#current = call;
    } else {
      this.#events.onFailure(new CallError('reset', 'connection closed before the request'));
    }
  }

  #overHttp2(): Call | null {
    const { url, address } = this.#request;
    const { http2, proxy, repeated } = this.#parts.pool;
    if (url.protocol !== 'https:') return null;
    const isTo = (to: string) => address === null || addressKey(to) === address;
    const borrowed = http2.borrow(url.host, { isTo, isLast: repeated.has(url.host) });
    if (borrowed === null) return null;
    const options = { ...borrowed, proxied: proxy !== null };
    return new Http2Call(this.#request, this.#events, options);
  }
}
