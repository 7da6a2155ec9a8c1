// Threads that parse pages, so that the main thread, which has the sockets and the database, never
// waits for one. A thread has one page at a time: when a page hangs or kills it, that page alone is
// lost, and a new thread takes the next. V8's limit of a thread's old objects is no such guard, it
// can end the process; what a page can make a thread hold is bounded by its body and by
// `page-scan.ts`. The pipeline of `agent.ts` fills the queue, one page a visit; threads start when
// first needed.

import { Worker } from 'node:worker_threads';
import type { PageInput, ParsedPage } from './page.ts';

/** Of a page nothing outlives its answer: more room would be memory that nobody needs. */
const HEAP = { maxYoungGenerationSizeMb: 12 };

/** How the pool is set up. */
export interface ParsePoolOptions {
  /** Threads at most; 0 parses on the calling thread, without a time-out. */
  readonly workers: number;
  /** Pages waiting for a thread at most; further ones fail with `parse_queue_full`. */
  readonly queueMax: number;
  /** From handing a page to a thread that has loaded, to its answer. */
  readonly timeoutMs: number;
  /** The thread's script; default: `worker` beside this file. */
  readonly script?: URL;
}

/**
 * Why a page was not parsed: it took longer than `timeoutMs`; it ended its thread; too many pages
 * were waiting; the pool was closed. Other pages are not affected by the first three.
 */
export type ParseErrorCode = 'parse_timeout' | 'parse_crash' | 'parse_queue_full' | 'parse_closed';

/** What `parse` rejects with. */
export class ParseError extends Error {
  readonly code: ParseErrorCode;

  constructor(code: ParseErrorCode, url: string, cause?: unknown) {
    super(`${code}: ${url}`, { cause });
    this.name = 'ParseError';
    this.code = code;
  }
}

interface Job {
  readonly input: PageInput;
  readonly resolve: (page: ParsedPage) => void;
  readonly reject: (error: ParseError) => void;
}

/** A thread with the page it has, if any. */
interface Seat {
  readonly worker: Worker;
  loaded: boolean;
  job: Job | null;
  timer: NodeJS.Timeout | undefined;
}

/** A bounded number of threads that run `parsePage`. */
export class ParsePool {
  readonly #options: ParsePoolOptions;
  readonly #seats = new Set<Seat>();
  readonly #idle: Seat[] = [];
  /** Filled by `parse`, emptied by threads that come free; bound: `queueMax`. */
  readonly #queue: Job[] = [];
  #closed = false;

  constructor(options: ParsePoolOptions) {
    this.#options = options;
  }

  /**
   * Parses a page on a thread. The body's ArrayBuffer goes to the thread and is empty here
   * afterwards, unless the body is only a part of it: then that part is copied.
   *
   * @throws ParseError
   */
  parse(input: PageInput): Promise<ParsedPage> {
    if (this.#closed) return Promise.reject(new ParseError('parse_closed', input.url));
    if (this.#options.workers === 0) return parseHere(input);
    return new Promise((resolve, reject) => {
      const job = { input, resolve, reject };
      const seat = this.#idle.pop() ?? this.#newSeat();
      if (seat !== null) this.#assign(seat, job);
      else if (this.#queue.length < this.#options.queueMax) this.#queue.push(job);
      else reject(new ParseError('parse_queue_full', input.url));
    });
  }

  /** Ends all threads; pages that wait or are being parsed fail with `parse_closed`. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#queue.splice(0)) fail(job, 'parse_closed');
    await Promise.all([...this.#seats].map((seat) => this.#end(seat, 'parse_closed')));
  }

  #newSeat(): Seat | null {
    if (this.#seats.size >= this.#options.workers) return null;
    const worker = new Worker(this.#options.script ?? ownScript(), { resourceLimits: HEAP });
    const seat: Seat = { worker, loaded: false, job: null, timer: undefined };
    worker.on('message', (message: ParsedPage | 'ready') => {
      if (message === 'ready') {
        seat.loaded = true;
        this.#startTimer(seat);
      } else this.#answered(seat, message);
    });
    worker.on('error', (cause) => void this.#end(seat, 'parse_crash', cause));
    worker.on('exit', () => void this.#end(seat, 'parse_crash'));
    this.#seats.add(seat);
    return seat;
  }

  #assign(seat: Seat, job: Job): void {
    seat.job = job;
    const body = ownBytes(job.input.body);
    seat.worker.postMessage({ ...job.input, body }, [body.buffer]);
    if (seat.loaded) this.#startTimer(seat);
  }

  #startTimer(seat: Seat): void {
    if (seat.job === null) return;
    seat.timer = setTimeout(() => void this.#end(seat, 'parse_timeout'), this.#options.timeoutMs);
  }

  #answered(seat: Seat, page: ParsedPage): void {
    // An answer may have been on its way when the time was up.
    if (!this.#seats.has(seat)) return;
    clearTimeout(seat.timer);
    seat.job?.resolve(page);
    seat.job = null;
    const next = this.#queue.shift();
    if (next === undefined) this.#idle.push(seat);
    else this.#assign(seat, next);
  }

  /** Takes a thread out of service, once, and lets another have the next page. */
  async #end(seat: Seat, code: ParseErrorCode, cause?: unknown): Promise<void> {
    if (!this.#seats.delete(seat)) return;
    clearTimeout(seat.timer);
    const idle = this.#idle.indexOf(seat);
    if (idle >= 0) this.#idle.splice(idle, 1);
    if (seat.job !== null) fail(seat.job, code, cause);
    seat.job = null;
    const next = this.#closed ? undefined : this.#queue.shift();
    if (next !== undefined) {
      const successor = this.#newSeat();
      if (successor === null) throw new Error('a seat was just given up');
      this.#assign(successor, next);
    }
    await seat.worker.terminate();
  }
}

function fail(job: Job, code: ParseErrorCode, cause?: unknown): void {
  job.reject(new ParseError(code, job.input.url, cause));
}

async function parseHere(input: PageInput): Promise<ParsedPage> {
  // As a rule only the threads need it, and it takes a while to load.
  const { parsePage } = await import('./page.ts');
  try {
    return parsePage(input);
  } catch (cause) {
    throw new ParseError('parse_crash', input.url, cause);
  }
}

/** TypeScript in a checkout, JavaScript where the package was installed: the same as this file. */
function ownScript(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
}

/** The bytes in a buffer that holds nothing else, so that it can be given away. */
function ownBytes(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = body;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) {
    return new Uint8Array(buffer);
  }
  return Uint8Array.from(body);
}
