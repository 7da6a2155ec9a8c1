// Wall clocks of single agents that a test moves as it likes: libfaketime, loaded before the system's
// own library, adds to the machine's time what a file says. The monotonic clock stays as it is, and
// the machine's own is never touched. Used by the tests of time and by the storms.

import fs from 'node:fs';
import { clockLibrary } from './needs.ts';

export class WallClock {
  readonly #file: string;
  #seconds = 0;

  /** @param file - where to keep what is added; of each agent its own, unless they jump together */
  constructor(file: string) {
    this.#file = file;
    this.moveTo(0);
  }

  /** The environment of an agent that lives by it. */
  env(): Record<string, string> {
    return {
      LD_PRELOAD: clockLibrary()!,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** So many seconds from the machine's time; by rename, since it is read at any moment. */
  moveTo(seconds: number): void {
    this.#seconds = seconds;
    fs.writeFileSync(`${this.#file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    fs.renameSync(`${this.#file}.new`, this.#file);
  }

  /** So many seconds from where it is. */
  moveBy(seconds: number): void {
    this.moveTo(this.#seconds + seconds);
  }
}
