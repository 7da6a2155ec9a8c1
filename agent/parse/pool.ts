// Threads that parse pages, so that the main thread, which has the sockets and the database, never
// waits for one. Small pages that come in quick succession go to a thread together, since waking it,
// and being woken by it, is dear (adr/0041). When a page hangs or kills its thread, that page alone is
// lost: those it was handed over with are parsed again, each by itself. V8's limit of a thread's old objects is no such guard, it can end the process; what a page
// can make a thread hold is bounded by its body and by `page-scan.ts`. The pipeline of `agent.ts`
// fills the queue, one page a visit; threads start when first needed.

import { Worker } from 'node:worker_threads';
import type { PageInput, ParsedPage } from './page.ts';

/** Of a page nothing outlives its answer: more room would be memory that nobody needs. */
const HEAP = { maxYoungGenerationSizeMb: 12 };

/** A page waits so long for others at most, and not at all where none came so shortly before it. */
const GATHER_MS = 20;
/** Pages handed over together at most: more would wait for one another longer than they save. */
const TOGETHER_MAX = 8;
/** A larger page takes a while by itself, and its copy would, too. */
const TOGETHER_BYTES_MAX = 64 * 1024;

/** How the pool is set up. */
export interface ParsePoolOptions {
  /** Threads at most; 0 parses on the calling thread, without a time-out. */
  readonly workers: number;
  /** Pages waiting for a thread at most; further ones fail with `parse_queue_full`. */
  readonly queueMax: number;
  /** From handing pages to a thread that has loaded, to their answer. */
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
  /** Small, and not suspected of having ended a thread. */
  together: boolean;
}

/** A thread with the pages it has, if any. */
interface Seat {
  readonly worker: Worker;
  loaded: boolean;
  jobs: readonly Job[];
  timer: NodeJS.Timeout | undefined;
}

/** A bounded number of threads that run `parsePage`. */
export class ParsePool {
  readonly #options: ParsePoolOptions;
  readonly #seats = new Set<Seat>();
  readonly #idle: Seat[] = [];
  /** Filled by `parse`, emptied by threads that come free; bound: `queueMax`. */
  readonly #queue: Job[] = [];
  /** Runs for `GATHER_MS` after pages were handed over. */
  #gathering: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: ParsePoolOptions) {
    this.#options = options;
  }

  /**
   * Parses a page on a thread. The body is the pool's until then, and may be empty afterwards: its
   * ArrayBuffer goes to the thread, unless it is a part of one or goes together with others. Then
   * it is copied.
   *
   * @throws ParseError
   */
  parse(input: PageInput): Promise<ParsedPage> {
    if (this.#closed) return Promise.reject(new ParseError('parse_closed', input.url));
    if (this.#options.workers === 0) return parseHere(input);
    return new Promise((resolve, reject) => {
      const isFull = this.#queue.length >= this.#options.queueMax && !this.#hasRoom;
      if (isFull) return reject(new ParseError('parse_queue_full', input.url));
      const together = input.body.byteLength <= TOGETHER_BYTES_MAX;
      this.#queue.push({ input, resolve, reject, together });
      this.#dispatch();
    });
  }

  /** Ends all threads; pages that wait or are being parsed fail with `parse_closed`. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    for (const job of this.#queue.splice(0)) fail(job, 'parse_closed');
    await Promise.all([...this.#seats].map((seat) => this.#end(seat, 'parse_closed')));
  }

  get #hasRoom(): boolean {
    return this.#idle.length > 0 || this.#seats.size < this.#options.workers;
  }

  /** Hands over what waits, as far as threads are free and the time has come. */
  #dispatch(): void {
    while (this.#queue.length > 0 && this.#hasRoom && !this.#closed) {
      if (this.#gathering !== null && this.#mayGather()) return;
      this.#handOver(this.#idle.pop() ?? this.#newSeat(), this.#next());
    }
  }

  #gathered(): void {
    this.#gathering = null;
    this.#dispatch();
  }

  #mayGather(): boolean {
    const { length } = this.#queue;
    return length < TOGETHER_MAX && length <= this.#options.queueMax && this.#queue[0]!.together;
  }

  /** The first page of the queue, and what goes to a thread with it. */
  #next(): Job[] {
    const parted = this.#queue.findIndex(({ together }) => !together);
    const count = parted < 0 ? this.#queue.length : Math.max(parted, 1);
    return this.#queue.splice(0, Math.min(count, TOGETHER_MAX));
  }

  #newSeat(): Seat {
    const worker = new Worker(this.#options.script ?? ownScript(), { resourceLimits: HEAP });
    const seat: Seat = { worker, loaded: false, jobs: [], timer: undefined };
    worker.on('message', (message: readonly ParsedPage[] | 'ready') => {
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

  #handOver(seat: Seat, jobs: readonly Job[]): void {
    seat.jobs = jobs;
    this.#gathering = this.#gathering?.refresh() ?? setTimeout(() => this.#gathered(), GATHER_MS);
    const ownBytes = jobs.length === 1 ? givenAway : copied;
    const inputs = jobs.map(({ input }) => ({ ...input, body: ownBytes(input.body) }));
    seat.worker.postMessage(
      inputs,
      inputs.map(({ body }) => body.buffer),
    );
    if (seat.loaded) this.#startTimer(seat);
  }

  #startTimer(seat: Seat): void {
    if (seat.jobs.length === 0) return;
    seat.timer = setTimeout(() => void this.#end(seat, 'parse_timeout'), this.#options.timeoutMs);
  }

  #answered(seat: Seat, pages: readonly ParsedPage[]): void {
    // An answer may have been on its way when the time was up.
    if (!this.#seats.has(seat)) return;
    clearTimeout(seat.timer);
    for (const [k, { resolve }] of seat.jobs.entries()) resolve(pages[k]!);
    seat.jobs = [];
    this.#idle.push(seat);
    this.#dispatch();
  }

  /** Takes a thread out of service, once, and lets others have the next pages. */
  async #end(seat: Seat, code: ParseErrorCode, cause?: unknown): Promise<void> {
    if (!this.#seats.delete(seat)) return;
    clearTimeout(seat.timer);
    const idle = this.#idle.indexOf(seat);
    if (idle >= 0) this.#idle.splice(idle, 1);
    const { jobs } = seat;
    seat.jobs = [];
    if (this.#closed || jobs.length <= 1) for (const job of jobs) fail(job, code, cause);
    else this.#queue.unshift(...jobs.map((job) => Object.assign(job, { together: false })));
    this.#dispatch();
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

/** The bytes in a buffer that holds nothing else, so that it can go to a thread. */
function givenAway(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = body;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) {
    return new Uint8Array(buffer);
  }
  return copied(body);
}

function copied(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(body);
}
