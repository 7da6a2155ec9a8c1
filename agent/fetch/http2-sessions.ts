/**
 * HTTP/2 connections, one a host, as far as they are open. The pool brings each when a server
 * has chosen the protocol; a call borrows it and brings it back, and one that is idle for too
 * long, told to go away or too many over all hosts is closed. Made by `connection-pool.ts`.
 */

import http2, { type ClientHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';

export interface Http2SessionsOptions {
  /** Idle connections kept over all hosts; the oldest is closed for a new one. */
  readonly idleMax: number;
  /** How long an idle connection is kept. */
  readonly idleMs: number;
}

/** One request at a time: a window of this size is all that a server can have under way. */
const WINDOW_BYTES = 256 * 1024;
/** As much header as is read of HTTP/1.1. */
const HEADER_BYTES_MAX = 16 * 1024;
/** RFC 9113 knows six settings; a server that sends hundreds is up to something. */
const SETTINGS_MAX = 32;
/** In megabytes; the window, the header tables and what waits to be written fit many times. */
const SESSION_MEMORY_MAX = 4;

const ignoreError = () => {};

interface Open {
  readonly session: ClientHttp2Session;
  borrowers: number;
  idle: NodeJS.Timeout | undefined;
}

export class Http2Sessions {
  readonly #options: Http2SessionsOptions;
  /** By authority. Filled by {@link adopt}, emptied when a connection closes or is given up. */
  readonly #open = new Map<string, Open>();
  /** Given up, but a call may still be reading. */
  readonly #leaving = new Set<ClientHttp2Session>();

  constructor(options: Http2SessionsOptions) {
    this.#options = options;
  }

  /** Takes over a connection on which the server has chosen h2. */
  adopt(authority: string, socket: TLSSocket): void {
    const session = http2.connect(`https://${authority}`, {
      createConnection: () => socket,
      settings: {
        enablePush: false,
        initialWindowSize: WINDOW_BYTES,
        maxHeaderListSize: HEADER_BYTES_MAX,
      },
      maxSettings: SETTINGS_MAX,
      maxSessionMemory: SESSION_MEMORY_MAX,
    });
    session.on('error', ignoreError);
    session.once('connect', () => session.setLocalWindowSize(WINDOW_BYTES));
    session.once('goaway', () => this.#giveUp(authority, session));
    session.once('close', () => {
      this.#giveUp(authority, session);
      this.#leaving.delete(session);
    });
    const earlier = this.#open.get(authority);
    if (earlier !== undefined) this.#giveUp(authority, earlier.session);
    this.#open.set(authority, { session, borrowers: 0, idle: undefined });
    this.#rest(authority, session);
  }

  /**
   * @param isTo whether a connection to that address will do.
   * @returns an open connection, to be given back; null where there is none.
   */
  borrow(
    authority: string,
    isTo: (address: string) => boolean = () => true,
  ): ClientHttp2Session | null {
    const open = this.#open.get(authority);
    if (open === undefined) return null;
    const { destroyed, closed } = open.session;
    if (destroyed || closed || !isTo(open.session.socket.remoteAddress ?? '')) {
      this.#giveUp(authority, open.session);
      return null;
    }
    clearTimeout(open.idle);
    open.borrowers++;
    return open.session;
  }

  giveBack(authority: string, session: ClientHttp2Session): void {
    const open = this.#open.get(authority);
    if (open?.session !== session) return;
    open.borrowers--;
    this.#rest(authority, session);
  }

  close(): void {
    for (const { session, idle } of this.#open.values()) {
      clearTimeout(idle);
      session.destroy();
    }
    for (const session of this.#leaving) session.destroy();
    this.#open.clear();
  }

  /** Starts its idle time, as the youngest of the idle ones. */
  #rest(authority: string, session: ClientHttp2Session): void {
    const open = this.#open.get(authority);
    if (open?.session !== session || open.borrowers > 0) return;
    clearTimeout(open.idle);
    open.idle = setTimeout(() => this.#giveUp(authority, session), this.#options.idleMs);
    this.#open.delete(authority);
    this.#open.set(authority, open);
    const idle = [...this.#open].filter(([, { borrowers }]) => borrowers === 0);
    const oldest = idle[0];
    if (idle.length > this.#options.idleMax && oldest !== undefined) {
      this.#giveUp(oldest[0], oldest[1].session);
    }
  }

  /** No new calls; the connection closes when the last one on it has ended. */
  #giveUp(authority: string, session: ClientHttp2Session): void {
    const open = this.#open.get(authority);
    if (open?.session !== session) return;
    clearTimeout(open.idle);
    this.#open.delete(authority);
    if (!session.destroyed) {
      this.#leaving.add(session);
      session.close();
    }
  }
}
