// The log of the web server: one entry for each request, kept in memory and optionally appended to
// a file of JSON lines, so that another process can judge it.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

export interface LoggedRequest {
  /** Address of the host to which the client connected. */
  readonly host: string;
  /** Path and query as requested. */
  readonly path: string;
  /** When its head had arrived: Unix milliseconds with fractions, on the server's steady clock. */
  readonly startMs: number;
  /** When its last byte was handed to the kernel, or when the client aborted it. */
  readonly endMs: number;
  /** 0: the client aborted it before the answer was complete. */
  readonly status: number;
  readonly userAgent: string;
  /** Address from which the client connected. */
  readonly client?: string;
}

/** Maximum number of entries that wait for the next write to the file. */
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

/** The entries of a log file, without an incomplete last line after a crash. */
export function readRequestLog(file: string): LoggedRequest[] {
  const text = readFileSync(file, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LoggedRequest);
}
