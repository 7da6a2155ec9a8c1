// The keys of a terminal as they are pressed. Until `close`, and at the latest at the exit of the
// process, the terminal is in raw mode: it echoes nothing and sends no signal for Ctrl-C.

import { emitKeypressEvents } from 'node:readline';
import type { InputStream } from '../common/caller.ts';
import type { Key } from './top-keys.ts';

export class Keyboard {
  readonly #stdin: InputStream;
  readonly #onKey: (text: string | undefined, key: Key) => void;
  readonly #close = () => this.close();

  constructor(stdin: InputStream, onKey: (key: Key) => void) {
    this.#stdin = stdin;
    this.#onKey = (_text, key) => onKey(key);
    process.once('exit', this.#close);
    emitKeypressEvents(stdin);
    stdin.setRawMode?.(true);
    // The terminal may be closed. The signal that says so ends the command.
    stdin.on('error', ignore).on('keypress', this.#onKey).resume();
  }

  close(): void {
    process.off('exit', this.#close);
    this.#stdin.setRawMode?.(false);
    this.#stdin.off('keypress', this.#onKey).pause();
  }
}

function ignore(): void {}
