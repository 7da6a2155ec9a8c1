// Wall clocks of single agents that a test can move. libfaketime, loaded before the system's
// library, adds the offset in a file to the machine's time. The monotonic clock and the machine's
// own clock stay unchanged.

import fs from 'node:fs';
import { clockLibrary } from './needs.ts';

export class WallClock {
  readonly #file: string;
  #seconds = 0;

  /** @param file - holds the offset; one for each agent, unless their clocks jump together */
  constructor(file: string) {
    this.#file = file;
    this.moveTo(0);
  }

  /** The environment of an agent that uses this clock. */
  env(): Record<string, string> {
    return {
      LD_PRELOAD: clockLibrary()!,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /**
   * Sets the offset from the machine's time in seconds. Renames a file, because it is read at any
   * moment.
   */
  moveTo(seconds: number): void {
    this.#seconds = seconds;
    fs.writeFileSync(`${this.#file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    fs.renameSync(`${this.#file}.new`, this.#file);
  }

  /** Moves the clock by this many seconds. */
  moveBy(seconds: number): void {
    this.moveTo(this.#seconds + seconds);
  }
}
