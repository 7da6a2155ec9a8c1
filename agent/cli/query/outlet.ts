// The output of a command whose rows stream from state files. Its read transaction keeps SQLite from
// reusing the write-ahead logs of the agents, so stdout may hold it up for a bounded time only. After
// that the rest goes into a temporary file, the state files are closed, and the file is printed.

import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { monotonicMs } from '../../runtime/clock.ts';
import { caller } from '../common/caller.ts';
import { print } from '../common/output.ts';

/** Text is written in pieces of this length: few system calls, little memory. */
const CHUNK_CHARS = 64 * 1024;
/** Sum of the times for which stdout may hold up a command that has state files open. */
const WAIT_MS_MAX = 2_000;

export interface OutletOptions {
  readonly print: (text: string) => Promise<void>;
  /** 0: everything goes into the file first. */
  readonly waitMsMax: number;
  readonly directory: string;
}

export class Outlet {
  readonly #options: OutletOptions;
  #gathered = '';
  #waitedMs = 0;
  /** The last piece given to stdout. */
  #printing: Promise<void> = Promise.resolve();
  /** The unlinked temporary file, once stdout was too slow. */
  #file: number | null = null;

  constructor(options: Partial<OutletOptions> = {}) {
    this.#options = {
      print,
      // A write to a terminal blocks the whole process while its user has stopped the output.
      waitMsMax: caller().stdout.isTTY ? 0 : WAIT_MS_MAX,
      directory: os.tmpdir(),
      ...options,
    };
  }

  /** Whether the rest goes into the temporary file. */
  get isSpooling(): boolean {
    return this.#file !== null;
  }

  /** Takes text while the state files are open. Errors of the temporary file are thrown. */
  async write(text: string): Promise<void> {
    this.#gathered += text;
    if (this.#gathered.length >= CHUNK_CHARS) await this.#pass();
  }

  /** Prints what is left. To be called when the state files are closed. */
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
    this.#file ??= openUnlinked(this.#options.directory);
    writeWhole(this.#file, Buffer.from(text));
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

/** Without a name the file goes with the process, however that ends. */
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
