/**
 * Limits the work for small frames in one turn of the event loop. Node reads up to 2 MiB from a
 * socket in one turn, and an HTTP/2 frame with one byte of body costs some microseconds. A
 * connection with too many small frames is not read further until its turn comes, and one such
 * connection is read per turn of the loop. So all of them together delay other work by one read (64
 * KiB).
 */

import type { Socket } from 'node:net';

/** Node's internal handle of a socket. Null once the socket is closed. */
interface ReadHandle {
  readStop(): void;
  readStart(): void;
}

export class ReadTurns {
  /** Filled by `add`, emptied by one entry per turn; limit: the open connections. */
  readonly #waiting = new Set<ReadGate>();

  add(gate: ReadGate): void {
    if (this.#waiting.size === 0) setImmediate(() => this.#callUp());
    this.#waiting.add(gate);
  }

  #callUp(): void {
    const [gate] = this.#waiting;
    this.#waiting.delete(gate!);
    gate!.endWait();
    if (this.#waiting.size > 0) setImmediate(() => this.#callUp());
  }
}

/**
 * Pauses and resumes one connection. An HTTP/2 connection reads from its handle, not from the
 * socket.
 */
export class ReadGate {
  readonly #socket: Socket;
  readonly #turns: ReadTurns;

  constructor(socket: Socket, turns: ReadTurns) {
    this.#socket = socket;
    this.#turns = turns;
  }

  /** Stops reading in this turn. Data that was read already is still delivered. */
  awaitTurn(): void {
    this.#turns.add(this);
    // Needed even if the connection already waits: Node resumes reading after each write.
    this.#handle?.readStop();
  }

  /** @internal Called by {@link ReadTurns}. */
  endWait(): void {
    this.#handle?.readStart();
  }

  get #handle(): ReadHandle | null | undefined {
    return (this.#socket as { _handle?: ReadHandle | null })._handle;
  }
}
