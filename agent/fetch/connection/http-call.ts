/**
 * Chooses how a request is spoken: HTTP/2 where the pool has such a connection to the host, else
 * HTTP/1.1, unless the server chooses HTTP/2 while the connection is being made, before anything
 * is written. A request that the server has not processed is repeated at once, as RFC 9113,
 * section 8.7, allows: that is no answer of the host. `exchange.ts` starts one a fetch.
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

/** Repeats of one request; what fails then is an ordinary failure, with its wait. */
const REPEATS_MAX = 2;

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
  #repeated = 0;

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

  /** @returns whether the request is being made again. */
  #repeats(error: Error): boolean {
    if (!(error instanceof RepeatableError) || this.#repeated === REPEATS_MAX) return false;
    const { repeat } = error;
    if (repeat === 'stale' && this.#repeated > 0) return false;
    this.#repeated++;
    if (repeat === 'http1') this.#parts.pool.http2.useHttp1(this.#request.url.host);
    // A single refusal may be about the number of streams; after the second a new connection.
    const isSound = repeat === 'unprocessed' && this.#repeated === 1;
    this.#current.destroy(isSound ? 'sound' : 'doubtful');
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
    const { http2, proxy } = this.#parts.pool;
    const isTo = (to: string) => address === null || addressKey(to) === address;
    const borrowed = url.protocol === 'https:' ? http2.borrow(url.host, isTo) : null;
    if (borrowed === null) return null;
    return new Http2Call(this.#request, this.#events, {
      session: borrowed.session,
      gate: borrowed.gate,
      proxied: proxy !== null,
      farewell: borrowed.farewell,
      onDone: borrowed.giveBack,
      onDoubt: borrowed.giveUp,
    });
  }
}
