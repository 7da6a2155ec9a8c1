/**
 * Connections on which more small frames arrive than one turn of the loop should handle. Node
 * reads up to 2 MiB from a socket in one turn, and an HTTP/2 frame may hold one byte of the body
 * and costs some microseconds. Such a connection is not read further until it is called up, and one
 * connection is called up in a turn: so one read (64 KiB) is what all of them cost the others.
 * Used by `http2-sessions.ts` and `small-frames.ts`.
 */

import type { Socket } from 'node:net';

/** Node's handle of a socket; it has no public name. Null once the socket is closed. */
interface ReadHandle {
  readStop(): void;
  readStart(): void;
}

export class ReadTurns {
  /** Filled by `add`, emptied by one a turn; bound: the open connections. */
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

/** Whether one connection is read. An HTTP/2 connection reads by its handle, past the socket. */
export class ReadGate {
  readonly #socket: Socket;
  readonly #turns: ReadTurns;

  constructor(socket: Socket, turns: ReadTurns) {
    this.#socket = socket;
    this.#turns = turns;
  }

  /** Reads no more in this turn, but for what has been read already. */
  awaitTurn(): void {
    this.#turns.add(this);
    // Again where it waits already: Node reads on after each write.
    this.#handle?.readStop();
  }

  /** @internal Told by the turns. */
  endWait(): void {
    this.#handle?.readStart();
  }

  get #handle(): ReadHandle | null | undefined {
    return (this.#socket as { _handle?: ReadHandle | null })._handle;
  }
}
