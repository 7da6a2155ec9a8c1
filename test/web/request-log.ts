// What the web server saw: one entry a request, kept in memory and, if asked for, appended to a
// file of JSON lines so that another process can judge it. Written by server.ts, read by judge.ts.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

export interface LoggedRequest {
  /** Address of the host, as the client connected to it. */
  readonly host: string;
  /** Path and query, as requested. */
  readonly path: string;
  /** When its head had arrived: Unix milliseconds with fractions, on the server's steady clock. */
  readonly startMs: number;
  /** When its last byte was handed to the kernel, or the client gave up. */
  readonly endMs: number;
  /** 0: the client gave up before the answer was complete. */
  readonly status: number;
  readonly userAgent: string;
  /** Address that the client connected from. */
  readonly client?: string;
}

/** Entries that wait for the next write to the file; beyond it they are written at once. */
const unwrittenMax = 1_000;

export class RequestLog {
  readonly #entries: LoggedRequest[] = [];
  #unwritten: string[] = [];
  #file: number | null = null;

  /** `file`: replaced if it exists. */
  constructor(file?: string) {
    if (file !== undefined) this.#file = openSync(file, 'w');
  }

  add(entry: LoggedRequest): void {
    this.#entries.push(entry);
    if (this.#file === null) return;
    this.#unwritten.push(`${JSON.stringify(entry)}\n`);
    if (this.#unwritten.length >= unwrittenMax) this.flush();
  }

  /** All requests that have ended, in the order of their ends. */
  entries(): readonly LoggedRequest[] {
    return this.#entries;
  }

  flush(): void {
    if (this.#file !== null && this.#unwritten.length > 0) {
      writeSync(this.#file, this.#unwritten.join(''));
    }
    this.#unwritten = [];
  }

  close(): void {
    this.flush();
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}

/** The entries of a log file; a line cut off at its end by a crash is left out. */
export function readRequestLog(file: string): LoggedRequest[] {
  const text = readFileSync(file, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LoggedRequest);
}
