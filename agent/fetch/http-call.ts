/**
 * Chooses how a request is spoken: HTTP/2 where the pool has such a connection to the host, else
 * HTTP/1.1, unless the server chooses HTTP/2 while the connection is being made, before anything
 * is written. `exchange.ts` starts one a fetch.
 */

import type { Got } from 'got';
import { addressKey } from './address-choice.ts';
import { type Call, CallError, type CallEvents, type CallRequest } from './call.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { Http1Call } from './http1-call.ts';
import { Http2Call } from './http2-call.ts';

export interface CallParts {
  /** Speaks HTTP/1.1; null: Node itself does. */
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
    this.#events = events;
    this.#parts = parts;
    this.#current = this.#overHttp2() ?? this.#overHttp1();
  }

  requestHead(): string {
    return this.#current.requestHead();
  }

  destroy(): void {
    this.#current.destroy();
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
    const { http2, proxy } = this.#parts.pool;
    const isTo = (to: string) => address === null || addressKey(to) === address;
    const session = url.protocol === 'https:' ? http2.borrow(url.host, isTo) : null;
    if (session === null) return null;
    return new Http2Call(this.#request, this.#events, {
      session,
      proxied: proxy !== null,
      onDone: () => http2.giveBack(url.host, session),
    });
  }
}
