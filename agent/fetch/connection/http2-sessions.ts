/**
 * HTTP/2 connections, one a host, as far as they are open. The pool brings each when a server
 * has chosen the protocol; a call borrows it and gives it back. A connection is given up when it
 * is idle for too long, when the server says GOAWAY, when a request failed on it, or when there
 * are too many over all hosts: new requests then go over a new one. Made by `connection-pool.ts`.
 */

import http2, { type ClientHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { ReadGate, ReadTurns } from './read-turns.ts';

export interface Http2SessionsOptions {
  /** Idle connections kept over all hosts; the oldest is closed for a new one. */
  readonly idleMax: number;
  /** How long an idle connection is kept. */
  readonly idleMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** One request at a time: a window of this size is all that a server can have under way. */
const WINDOW_BYTES = 256 * 1024;
/** As much header as is read of HTTP/1.1. */
const HEADER_BYTES_MAX = 16 * 1024;
/** RFC 9113 knows six settings; a server that sends hundreds is up to something. */
const SETTINGS_MAX = 32;
/** In megabytes; the window, the header tables and what waits to be written fit many times. */
const SESSION_MEMORY_MAX = 4;

/** A closed connection whose peer does not close its side is cut off after this time. */
const CLOSE_MS = 1000;
/** For so long a host that wants HTTP/1.1 is not offered HTTP/2. */
const HTTP1_ONLY_MS = 3_600_000;
/** Hosts remembered that want HTTP/1.1. A forgotten one costs one refused request. */
const HTTP1_ONLY_MAX = 10_000;

const ignoreError = () => {};

/** What the server said with GOAWAY. */
export interface Farewell {
  readonly code: number;
  /** The last stream that the server has processed or may yet. */
  readonly lastStream: number;
}

interface Open {
  readonly session: ClientHttp2Session;
  /** What `session` writes to: a session that waits for its peer to close cannot be ended. */
  readonly socket: TLSSocket;
  readonly gate: ReadGate;
  borrowers: number;
  /** Ends the idle time, or the time that a given-up connection has to close. */
  timer: NodeJS.Timeout | undefined;
  farewell: Farewell | null;
}

/** A connection in the hands of one call. */
export interface BorrowedSession {
  readonly session: ClientHttp2Session;
  /** Has the connection wait where too much arrives in one turn. */
  readonly gate: ReadGate;
  /** Null before a GOAWAY. */
  readonly farewell: () => Farewell | null;
  /** To be called once. */
  readonly giveBack: () => void;
  /** No new call gets the connection. Those that have it go on. */
  readonly giveUp: () => void;
}

export class Http2Sessions {
  readonly #options: Http2SessionsOptions;
  readonly #turns = new ReadTurns();
  /** By authority. Filled by {@link adopt}, emptied when a connection closes or is given up. */
  readonly #open = new Map<string, Open>();
  /** Given up, but a call may still be reading, or the peer has not closed its side yet. */
  readonly #leaving = new Set<Open>();
  /** Authorities that want HTTP/1.1, and until when that is remembered; oldest first. */
  readonly #http1Only = new Map<string, number>();

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
    const gate = new ReadGate(socket, this.#turns);
    const open: Open = { session, socket, gate, borrowers: 0, timer: undefined, farewell: null };
    session.on('error', ignoreError);
    session.once('connect', () => session.setLocalWindowSize(WINDOW_BYTES));
    session.on('goaway', (code, lastStream) => {
      open.farewell = { code, lastStream };
      this.#giveUp(authority, open);
    });
    session.once('close', () => {
      this.#giveUp(authority, open);
      clearTimeout(open.timer);
      this.#leaving.delete(open);
    });
    const earlier = this.#open.get(authority);
    if (earlier !== undefined) this.#giveUp(authority, earlier);
    this.#open.set(authority, open);
    this.#rest(authority, open);
  }

  /**
   * @param isTo whether a connection to that address will do.
   * @returns an open connection, to be given back; null where there is none.
   */
  borrow(
    authority: string,
    isTo: (address: string) => boolean = () => true,
  ): BorrowedSession | null {
    const open = this.#open.get(authority);
    if (open === undefined) return null;
    const { session } = open;
    const { destroyed, closed } = session;
    if (destroyed || closed || !isTo(session.socket.remoteAddress ?? '')) {
      this.#giveUp(authority, open);
      return null;
    }
    clearTimeout(open.timer);
    open.borrowers++;
    return {
      session,
      gate: open.gate,
      farewell: () => open.farewell,
      giveBack: () => {
        open.borrowers--;
        this.#rest(authority, open);
      },
      giveUp: () => this.#giveUp(authority, open),
    };
  }

  /** The server has said that it wants HTTP/1.1 there. */
  useHttp1(authority: string): void {
    this.#http1Only.delete(authority);
    this.#http1Only.set(authority, this.#options.now() + HTTP1_ONLY_MS);
    if (this.#http1Only.size <= HTTP1_ONLY_MAX) return;
    const [oldest] = this.#http1Only.keys();
    this.#http1Only.delete(oldest!);
  }

  /** Whether HTTP/2 may be offered there. */
  mayOffer(authority: string): boolean {
    const until = this.#http1Only.get(authority);
    return until === undefined || until <= this.#options.now();
  }

  close(): void {
    for (const { session, socket, timer } of [...this.#open.values(), ...this.#leaving]) {
      clearTimeout(timer);
      session.destroy();
      socket.destroy();
    }
    this.#open.clear();
  }

  /** Where nobody uses the connection: starts its idle time, or closes it if it is given up. */
  #rest(authority: string, open: Open): void {
    if (open.borrowers > 0) return;
    if (this.#leaving.has(open)) {
      closeSoon(open);
      return;
    }
    if (this.#open.get(authority) !== open) return;
    clearTimeout(open.timer);
    open.timer = setTimeout(() => this.#giveUp(authority, open), this.#options.idleMs);
    this.#open.delete(authority);
    this.#open.set(authority, open);
    const idle = [...this.#open].filter(([, { borrowers }]) => borrowers === 0);
    const oldest = idle[0];
    if (idle.length > this.#options.idleMax && oldest !== undefined) this.#giveUp(...oldest);
  }

  /** No new calls; the connection closes when the last one on it has ended. */
  #giveUp(authority: string, open: Open): void {
    if (this.#open.get(authority) !== open) return;
    clearTimeout(open.timer);
    this.#open.delete(authority);
    const { session, socket } = open;
    if (socket.destroyed) return;
    this.#leaving.add(open);
    if (open.borrowers === 0) closeSoon(open);
    else if (!session.destroyed) session.close();
  }
}

/** Says GOAWAY and closes; a peer that does not answer is not waited for. */
function closeSoon(open: Open): void {
  const { session, socket } = open;
  if (!session.destroyed) session.close();
  clearTimeout(open.timer);
  open.timer = setTimeout(() => socket.destroy(), CLOSE_MS);
}
