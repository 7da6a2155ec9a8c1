// Output of commands whose rows stream from state files. While their read transaction is open,
// SQLite cannot reuse the agents' write-ahead logs, so stdout may delay it only for a limited time.
// After that, further rows go to a temporary file, which is printed once the state files are
// closed.

import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { monotonicMs } from '../../runtime/clock.ts';
import { caller } from '../common/caller.ts';
import { scratchRefusal } from '../common/exit-code.ts';
import { print } from '../common/output.ts';

/** Characters of one piece of output: large enough for few calls, small enough for memory. */
const CHUNK_CHARS = 64 * 1024;
/** Total time for which a slow stdout may delay a command while it has state files open. */
const WAIT_MS_MAX = 2_000;

export interface OutletOptions {
  readonly print: (text: string) => Promise<void>;
  /** 0: all pieces of full length go to the file first. */
  readonly waitMsMax: number;
  readonly directory: string;
}

export class Outlet {
  readonly #options: OutletOptions;
  #gathered = '';
  #waitedMs = 0;
  /** The last piece given to stdout. */
  #printing: Promise<void> = Promise.resolve();
  /** The unlinked temporary file; null unless stdout was too slow. */
  #file: number | null = null;

  constructor(options: Partial<OutletOptions> = {}) {
    this.#options = {
      print,
      // A write to a terminal blocks the process while the user has paused the output.
      waitMsMax: caller().stdout.isTTY ? 0 : WAIT_MS_MAX,
      directory: os.tmpdir(),
      ...options,
    };
  }

  /** Whether further text goes to the temporary file. */
  get isSpooling(): boolean {
    return this.#file !== null;
  }

  /** Accepts text while the state files are open. Throws a Refusal if the temporary file fails. */
  async write(text: string): Promise<void> {
    this.#gathered += text;
    if (this.#gathered.length >= CHUNK_CHARS) await this.#pass();
  }

  /** Prints the remaining text. Must be called after the state files are closed. */
  async end(): Promise<void> {
    const rest = this.#gathered;
    this.#gathered = '';
    await this.#printing;
    if (this.#file !== null) await this.#printFile(this.#file);
    if (rest !== '') await this.#options.print(rest);
  }

  async #pass(): Promise<void> {
    const text = this.#gathered;
    this.#gathered = '';
    if (this.#file === null && this.#waitedMs < this.#options.waitMsMax) {
      this.#printing = this.#options.print(text);
      await this.#waitForStdout();
      return;
    }
    try {
      this.#file ??= openUnlinked(this.#options.directory);
      writeWhole(this.#file, Buffer.from(text));
    } catch (error) {
      throw scratchRefusal(error);
    }
  }

  async #waitForStdout(): Promise<void> {
    const { waitMsMax } = this.#options;
    const since = monotonicMs();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<number>((resolve) => {
      timer = setTimeout(() => resolve(waitMsMax), waitMsMax - this.#waitedMs);
    });
    const printed = this.#printing.then(() => this.#waitedMs + monotonicMs() - since);
    this.#waitedMs = await Promise.race([printed, late]);
    clearTimeout(timer);
  }

  async #printFile(file: number): Promise<void> {
    const decoder = new TextDecoder();
    const piece = Buffer.alloc(CHUNK_CHARS);
    try {
      for (let at = 0; ; ) {
        const length = fs.readSync(file, piece, 0, piece.length, at);
        if (length === 0) return;
        at += length;
        await this.#options.print(decoder.decode(piece.subarray(0, length), { stream: true }));
      }
    } finally {
      fs.closeSync(file);
      this.#file = null;
    }
  }
}

/** The system deletes a file without a name when the process exits or crashes. */
function openUnlinked(directory: string): number {
  const own = fs.mkdtempSync(join(directory, 'ubiring-'));
  const path = join(own, 'rows');
  try {
    return fs.openSync(path, 'wx+', 0o600);
  } finally {
    fs.rmSync(own, { recursive: true, force: true });
  }
}

function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(file, bytes, at);
}
