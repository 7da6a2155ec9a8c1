// Threads that parse pages, so that the main thread, which has the sockets and the database, is
// never blocked. Small pages that arrive in quick succession go to a thread in one message, because
// waking a thread for each page is expensive. A thread shows which page it is at, so if it hangs or
// crashes, only that page fails and its other pages go to another thread. Limits on the old
// generation of a thread's heap would not protect the process, which V8 may end when they are
// exceeded. The memory of a thread is bounded by the body and by the limits of page-scan.ts.

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PageInput, ParsedPage } from './page/page.ts';
import { isPacked, SITEMAP_BYTES_MAX } from './sitemap/sitemap-body.ts';

/** Nothing of a page outlives its result, so a larger young generation would waste memory. */
const HEAP = { maxYoungGenerationSizeMb: 12 };

/**
 * Share of the pages under way for which a page waits in the queue, so that they go to a thread
 * together. When few are under way, it does not wait.
 */
const SHARE_AWAITED = 1 / 4;
/** Limit on that wait. */
const AWAITED_MS_MAX = 20;
/** Limit on the pages of one message: more would wait for one another longer than they save. */
const TOGETHER_MAX = 8;
/** Larger bodies go alone: it takes long to parse them, and to copy them. */
const TOGETHER_BYTES_MAX = 64 * 1024;

/**
 * A thread may end before it has loaded, for example for want of file descriptors. That is not the
 * fault of a page: its pages wait, and another thread is started after this time. After
 * `RESTARTS_MAX` such ends in a row, the first of its pages fails.
 */
const RESTART_MS = 250;
const RESTARTS_MAX = 120;

/** Default limit on the CPU time of one page; ordinary pages need milliseconds. */
const CPU_MS_MAX = 5000;
/** Interval of checks on a page; shorter if its CPU limit is less than twice as long. */
const WATCH_MS = 500;

/** With `oneByOne`: the number of smallest pages parsed before the next oldest one. */
const SMALLEST_FIRST = 3;

export interface ParsePoolOptions {
  /** Limit on the threads; 0 parses on the calling thread, without a time limit. */
  readonly workers: number;
  /**
   * For one page, once its thread has loaded; later pages of a message have up to twice as long.
   */
  readonly timeoutMs: number;
  /**
   * CPU time for one page; default 5000. It counts from the first check of the page: after 500 ms,
   * or after half of a shorter limit.
   */
  readonly cpuMs?: number;
  /**
   * Whether pages go one by one: small ones first, and in every fourth place the one that has
   * waited longest. Bodies are then copied, so that another pool can parse one that was too slow.
   */
  readonly oneByOne?: boolean;
  /** Script of the threads; default: `parse-worker` beside this file. */
  readonly script?: URL;
}

/**
 * Why a page was not parsed: it took longer than `timeoutMs` or `cpuMs`; it ended its thread; the
 * pool was closed. The first two do not affect other pages.
 */
type ParseErrorCode = 'parse_timeout' | 'parse_crash' | 'parse_closed';

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
  readonly isSmall: boolean;
}

/** Observes the page that a thread is at. */
interface Watch {
  /** Index of the page in the message. */
  readonly at: number;
  waitedMs: number;
  /** CPU time of the thread at the first check; null before it. */
  cpuMs: number | null;
}

/** A thread and its pages, if any. */
interface Seat {
  readonly worker: Worker;
  /** Memory shared with the thread: how many pages of the message it has begun. */
  readonly begun: Int32Array;
  loaded: boolean;
  /** Pages without a result yet, in the order in which they are parsed. */
  jobs: Job[];
  answered: number;
  timer?: NodeJS.Timeout;
  watch: Watch | null;
}

/** Runs `parseDocument` on a limited number of threads. */
export class ParsePool {
  readonly #options: ParsePoolOptions;
  readonly #seats = new Set<Seat>();
  readonly #idle: Seat[] = [];
  /**
   * Filled by `parse`, emptied by idle threads. Bounded by the number of open requests, each of
   * which waits for its page; `BodyBudget` counts the memory of the bodies.
   */
  readonly #queue: Job[] = [];
  /** Runs while the first page of the queue may wait for others. */
  #gathering: NodeJS.Timeout | null = null;
  /** Length of the queue that ends the wait. */
  #awaited = 1;
  /** Number of smallest pages parsed since the last oldest one. */
  #smallest = 0;
  #closed = false;
  /** Runs after a thread that did not load, until another may be started. */
  #restart: NodeJS.Timeout | null = null;
  /** Number of threads in a row that did not load. */
  #unloaded = 0;

  constructor(options: ParsePoolOptions) {
    this.#options = options;
  }

  /**
   * Parses a page on a thread. The pool owns the body, which may be empty afterwards: its
   * ArrayBuffer is transferred to the thread. The body is copied instead if it is a part of a
   * larger ArrayBuffer, or may have to go to another thread.
   * @param others - number of other pages under way
   * @throws ParseError
   */
  parse(input: PageInput, others = 0): Promise<ParsedPage> {
    if (this.#closed) return Promise.reject(new ParseError('parse_closed', input.url));
    if (this.#options.workers === 0) return parseHere(input);
    return new Promise((resolve, reject) => {
      const isSmall = !this.#options.oneByOne && input.body.byteLength <= TOGETHER_BYTES_MAX;
      this.#queue.push({ input, resolve, reject, isSmall });
      this.#awaited = Math.min(Math.ceil(others * SHARE_AWAITED), TOGETHER_MAX);
      if (this.#queue.length === 1 && this.#awaited > 1) {
        this.#gathering ??= setTimeout(() => {
          this.#gathering = null;
          this.#dispatch();
        }, AWAITED_MS_MAX);
      }
      this.#dispatch();
    });
  }

  /** Starts a thread before the first page comes: later, the resources for it may be missing. */
  start(): void {
    if (this.#seats.size < this.#options.workers) this.#idle.push(this.#newSeat());
  }

  /** Ends all threads. Pages without a result fail with `parse_closed`. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    if (this.#restart !== null) clearTimeout(this.#restart);
    for (const job of this.#queue.splice(0)) fail(job, 'parse_closed');
    await Promise.all([...this.#seats].map((seat) => this.#end(seat, 'parse_closed')));
  }

  get #cpuMs(): number {
    return this.#options.cpuMs ?? CPU_MS_MAX;
  }

  get #hasRoom(): boolean {
    if (this.#idle.length > 0) return true;
    return this.#seats.size < this.#options.workers && this.#restart === null;
  }

  /** Sends waiting pages to free threads, unless they still wait for others. */
  #dispatch(): void {
    while (this.#queue.length > 0 && this.#hasRoom && !this.#closed) {
      if (this.#mayGather) return;
      this.#handOver(this.#idle.pop() ?? this.#newSeat(), this.#next());
    }
  }

  get #mayGather(): boolean {
    if (this.#gathering === null || this.#queue.length >= this.#awaited) return false;
    return this.#queue.every(({ isSmall }) => isSmall);
  }

  /** Removes the first page from the queue, and those that go with it. */
  #next(): Job[] {
    if (this.#options.oneByOne) return this.#queue.splice(this.#nextOne(), 1);
    const large = this.#queue.findIndex(({ isSmall }) => !isSmall);
    const count = large < 0 ? this.#queue.length : Math.max(large, 1);
    const jobs = this.#queue.splice(0, Math.min(count, TOGETHER_MAX));
    if (this.#queue.length === 0 && this.#gathering !== null) {
      clearTimeout(this.#gathering);
      this.#gathering = null;
    }
    return jobs;
  }

  /** Index in the queue of the smallest page or, so that no page waits for ever, of the oldest. */
  #nextOne(): number {
    if (this.#smallest === SMALLEST_FIRST) {
      this.#smallest = 0;
      return 0;
    }
    this.#smallest++;
    const sizes = this.#queue.map(({ input }) => sizeOf(input));
    return sizes.indexOf(Math.min(...sizes));
  }

  #newSeat(): Seat {
    const begun = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const options = { resourceLimits: HEAP, workerData: begun };
    const worker = new Worker(this.#options.script ?? ownScript(), options);
    const seat: Seat = { worker, begun, loaded: false, jobs: [], answered: 0, watch: null };
    worker.on('message', (message: readonly ParsedPage[] | 'ready') => {
      if (message === 'ready') {
        seat.loaded = true;
        this.#unloaded = 0;
        if (seat.jobs.length > 0) this.#post(seat);
      } else this.#answered(seat, message);
    });
    worker.on('error', (cause) => void this.#end(seat, 'parse_crash', cause));
    worker.on('exit', () => void this.#end(seat, 'parse_crash'));
    this.#seats.add(seat);
    return seat;
  }

  #handOver(seat: Seat, jobs: Job[]): void {
    seat.jobs = jobs;
    seat.answered = 0;
    Atomics.store(seat.begun, 0, 0);
    if (seat.loaded) this.#post(seat);
  }

  /** Sends the pages once the thread has loaded: before, they may have to go to another one. */
  #post(seat: Seat): void {
    const { jobs } = seat;
    // If a page of several ends the thread, the others have to go to another thread.
    const own = jobs.length === 1 && !this.#options.oneByOne ? transferable : copied;
    const inputs = jobs.map(({ input }) => ({ ...input, body: own(input.body) }));
    seat.worker.postMessage(
      inputs,
      inputs.map(({ body }) => body.buffer),
    );
    this.#startTimer(seat);
  }

  /** Starts to observe the page that the thread is at. */
  #startTimer(seat: Seat): void {
    seat.watch = null;
    if (seat.jobs.length > 0) this.#watch(seat, { at: atOf(seat), waitedMs: 0, cpuMs: null });
  }

  #watch(seat: Seat, watch: Watch): void {
    seat.watch = watch;
    const ms = Math.min(WATCH_MS, this.#cpuMs / 2, this.#options.timeoutMs - watch.waitedMs);
    seat.timer = setTimeout(() => {
      watch.waitedMs += ms;
      if (atOf(seat) !== watch.at) this.#startTimer(seat);
      else if (watch.waitedMs >= this.#options.timeoutMs) void this.#end(seat, 'parse_timeout');
      else {
        // A sleeping thread does not report its CPU time, so the timer continues meanwhile.
        this.#watch(seat, watch);
        void this.#checkCpu(seat, watch);
      }
    }, ms);
  }

  async #checkCpu(seat: Seat, watch: Watch): Promise<void> {
    const usage = await seat.worker.cpuUsage().catch(() => null);
    // Meanwhile the thread may have begun another page, or ended.
    if (usage === null || seat.watch !== watch || atOf(seat) !== watch.at) return;
    const usedMs = (usage.user + usage.system) / 1000;
    watch.cpuMs ??= usedMs;
    if (usedMs - watch.cpuMs >= this.#cpuMs) void this.#end(seat, 'parse_timeout');
  }

  /** Resolves pages in order. A message may hold the results of only some of them. */
  #answered(seat: Seat, pages: readonly ParsedPage[]): void {
    // The results may arrive after the thread was ended.
    if (!this.#seats.has(seat)) return;
    const jobs = seat.jobs.splice(0, pages.length);
    seat.answered += jobs.length;
    for (const [k, { resolve }] of jobs.entries()) resolve(pages[k]!);
    if (seat.jobs.length > 0) return;
    clearTimeout(seat.timer);
    seat.watch = null;
    this.#idle.push(seat);
    this.#dispatch();
  }

  /** Ends a thread, once. The page at fault fails; its other pages return to the queue. */
  async #end(seat: Seat, code: ParseErrorCode, cause?: unknown): Promise<void> {
    if (!this.#seats.delete(seat)) return;
    clearTimeout(seat.timer);
    const idle = this.#idle.indexOf(seat);
    if (idle >= 0) this.#idle.splice(idle, 1);
    const jobs = seat.jobs.splice(0);
    let culprits: Job[];
    if (this.#closed) culprits = jobs.splice(0);
    else if (this.#mayStartAgain(seat)) culprits = [];
    else culprits = jobs.splice(atOf(seat) - seat.answered, 1);
    for (const job of culprits) fail(job, code, cause);
    this.#queue.unshift(...jobs);
    this.#dispatch();
    await seat.worker.terminate();
  }

  /** Whether a thread ended before it loaded, and another may be started later. */
  #mayStartAgain({ loaded, begun }: Seat): boolean {
    if (loaded || Atomics.load(begun, 0) > 0 || this.#unloaded >= RESTARTS_MAX) return false;
    this.#unloaded++;
    this.#restart ??= setTimeout(() => {
      this.#restart = null;
      this.#dispatch();
    }, RESTART_MS);
    return true;
  }
}

/** Index in the message of the page that the thread is at, or was at. */
function atOf({ begun, answered }: Seat): number {
  return Math.max(Atomics.load(begun, 0) - 1, answered);
}

/** Bytes to parse. A compressed sitemap may unpack to any size. */
export function sizeOf({ body, sitemap }: PageInput): number {
  return sitemap !== undefined && isPacked(body) ? SITEMAP_BYTES_MAX : body.byteLength;
}

function fail(job: Job, code: ParseErrorCode, cause?: unknown): void {
  job.reject(new ParseError(code, job.input.url, cause));
}

async function parseHere(input: PageInput): Promise<ParsedPage> {
  // Usually only the threads need this module, which takes a while to load.
  const { parseDocument } = await import('./document.ts');
  try {
    return await parseDocument(input);
  } catch (cause) {
    throw new ParseError('parse_crash', input.url, cause);
  }
}

/** `.ts` in a checkout, `.js` in an installed package: the same as this file. */
function ownScript(): URL {
  return new URL(`./parse-worker${extname(import.meta.url)}`, import.meta.url);
}

/** The bytes in an ArrayBuffer of their own, which can be transferred to a thread. */
function transferable(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = body;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) {
    return new Uint8Array(buffer);
  }
  return copied(body);
}

function copied(body: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(body);
}
