/**
 * Open HTTP/2 connections, one per host. The pool adds a connection when a server has chosen
 * HTTP/2; a call borrows it and gives it back. No further call gets a connection that was idle too
 * long, received GOAWAY, had a failed request, or exceeds the limit on idle connections. New
 * requests then open a new one.
 */

import http2, { type ClientHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { HEADER_BYTES_MAX, ignoreError } from './call.ts';
import { ReadGate, ReadTurns } from './read-turns.ts';

interface Http2SessionsOptions {
  /** Maximum number of idle connections over all hosts. Beyond it the oldest is closed. */
  readonly idleMax: number;
  /** Time in ms after which an idle connection is closed. */
  readonly idleMs: number;
}

/**
 * Flow-control window in bytes. A connection carries one request at a time, so this limits all that
 * a server can have in flight.
 */
const WINDOW_BYTES = 256 * 1024;
/**
 * Settings accepted from a server. RFC 9113 defines six; a server that sends hundreds is hostile.
 */
const SETTINGS_MAX = 32;
/** In megabytes: several times the window, the header tables and the pending writes. */
const SESSION_MEMORY_MAX = 4;

/** Time in ms that the peer has to close its side. After that the socket is destroyed. */
const CLOSE_MS = 1000;

/** The server's GOAWAY. */
interface Farewell {
  readonly code: number;
  /** The last stream that the server has processed or may still process. */
  readonly lastStream: number;
}

interface Open {
  readonly session: ClientHttp2Session;
  /**
   * The connection under `session`. It is destroyed directly, because a session that waits for its
   * peer to close cannot be ended.
   */
  readonly socket: TLSSocket;
  readonly gate: ReadGate;
  borrowers: number;
  /** Limits the idle time, or the time that a retired connection has to close. */
  timer: NodeJS.Timeout | undefined;
  farewell: Farewell | null;
}

interface BorrowOptions {
  /** Whether a connection to that address may be used. */
  readonly isTo?: (address: string) => boolean;
  /** No further call gets the connection. */
  readonly isLast?: boolean;
}

/** A connection lent to one call. */
export interface BorrowedSession {
  readonly session: ClientHttp2Session;
  /** Pauses reading when too much arrives in one turn of the event loop. */
  readonly gate: ReadGate;
  /** @returns null before a GOAWAY. */
  readonly farewell: () => Farewell | null;
  /** Makes the connection available to others. Call once. */
  readonly giveBack: () => void;
  /** Retires the connection: no new call gets it. Calls that use it continue. */
  readonly giveUp: () => void;
}

export class Http2Sessions {
  readonly #options: Http2SessionsOptions;
  readonly #turns = new ReadTurns();
  /** By authority. Filled by {@link adopt}, emptied when a connection closes or is retired. */
  readonly #open = new Map<string, Open>();
  /** Retired connections that a call still uses or the peer has not closed yet. */
  readonly #leaving = new Set<Open>();

  constructor(options: Http2SessionsOptions) {
    this.#options = options;
  }

  /** Adds a connection on which the server has chosen HTTP/2. */
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

  /** @returns an open connection, to be given back; null if there is none. */
  borrow(
    authority: string,
    { isTo = () => true, isLast = false }: BorrowOptions = {},
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
    // It closes when it is given back: Node refuses a new stream of a session that is closing.
    if (isLast) this.#retire(authority, open);
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

  close(): void {
    for (const { session, socket, timer } of [...this.#open.values(), ...this.#leaving]) {
      clearTimeout(timer);
      session.destroy();
      socket.destroy();
    }
    this.#open.clear();
  }

  /** If no call uses the connection, starts its idle time, or closes it if it is retired. */
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

  #retire(authority: string, open: Open): void {
    this.#open.delete(authority);
    if (!open.socket.destroyed) this.#leaving.add(open);
  }

  /** Retires the connection. It closes when the last call on it has ended. */
  #giveUp(authority: string, open: Open): void {
    if (this.#open.get(authority) !== open) return;
    clearTimeout(open.timer);
    const { session, socket } = open;
    this.#retire(authority, open);
    if (socket.destroyed) return;
    if (open.borrowers === 0) closeSoon(open);
    else if (!session.destroyed) session.close();
  }
}

/** Sends GOAWAY and closes the connection, at the latest after {@link CLOSE_MS}. */
function closeSoon(open: Open): void {
  const { session, socket } = open;
  if (!session.destroyed) session.close();
  clearTimeout(open.timer);
  open.timer = setTimeout(() => socket.destroy(), CLOSE_MS);
}
