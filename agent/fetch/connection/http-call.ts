/**
 * Chooses the protocol of a request: HTTP/2 if the pool has such a connection to the host, else
 * HTTP/1.1. If the server chooses HTTP/2 while the connection is opened, the call changes to it
 * before anything is written. A request that the server did not process is repeated at once (RFC
 * 9113, section 8.7); this is not a failure of the host.
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

/** Repeats of one request. After these a failure is reported, and a retry has to wait. */
const REPEATS_MAX = 2;

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

  /** @returns whether the request is repeated. */
  #repeats(error: Error): boolean {
    if (!(error instanceof RepeatableError) || this.#repeated === REPEATS_MAX) return false;
    const { repeat } = error;
    // One refusal can be due to the number of streams. A server that refuses again is left alone.
    if (repeat !== 'http1' && this.#repeated > 0) return false;
    this.#repeated++;
    const { http1Only, singleUse } = this.#parts.pool;
    if (repeat === 'http1') http1Only.add(this.#request.url.host);
    if (repeat === 'stale') singleUse.add(this.#request.url.host);
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
    const { http2, proxy, singleUse } = this.#parts.pool;
    const isTo = (to: string) => address === null || addressKey(to) === address;
    const borrowed = url.protocol === 'https:' ? http2.borrow(url.host, isTo) : null;
    if (borrowed === null) return null;
    const giveBack = () => {
      if (singleUse.has(url.host)) borrowed.giveUp();
      borrowed.giveBack();
    };
    const options = { ...borrowed, giveBack, proxied: proxy !== null };
    return new Http2Call(this.#request, this.#events, options);
  }
}
