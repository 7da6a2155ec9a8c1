// Threads that parse pages, so that the main thread, which has the sockets and the database, never
// waits for one. Small pages that come in quick succession go to a thread together, since waking it,
// and being woken by it, is dear. With one message a page the thread slept between any two pages.
// The thread tells at which page it is, so when one hangs or kills it, that page alone is lost: the
// others go to another thread. V8's limit of a thread's old objects is no such guard, it can end the process; what a page can make a thread hold is
// bounded by its body and by `page-scan.ts`. The pipeline of `agent.ts` fills the queue, one page a
// visit; threads start when first needed, but for the one that `start` starts.

import { Worker } from 'node:worker_threads';
import type { PageInput, ParsedPage } from './page/page.ts';
import { isPacked, SITEMAP_BYTES_MAX } from './sitemap/sitemap-body.ts';

/** Of a page nothing outlives its answer: more room would be memory that nobody needs. */
const HEAP = { maxYoungGenerationSizeMb: 12 };

/**
 * A page waits for a quarter of those that may come, much as an outcome waits for its turn
 * (runtime/turns.ts): where little is under way for nobody, and never longer than this.
 */
const SHARE_AWAITED = 1 / 4;
const AWAITED_MS_MAX = 20;
/** Pages handed over together at most: more would wait for one another longer than they save. */
const TOGETHER_MAX = 8;
/** A larger page takes a while by itself, and its copy would, too. */
const TOGETHER_BYTES_MAX = 64 * 1024;

/**
 * A thread that ended before it could load, as for want of file descriptors, is no page's doing: the
 * pages wait, and another is started after this, so many times. Then the first of them pays for it.
 */
const RESTART_MS = 250;
const RESTARTS_MAX = 120;

/** A page may use so much time of a processor; ordinary ones need milliseconds. */
const CPU_MS_MAX = 5000;
/**
 * A page that has been parsed for so long is looked at, and again after as long; sooner where it may
 * use less than twice as much of a processor.
 */
const WATCH_MS = 500;

/** Of pages that go one by one, so many of the smallest are parsed for each of the oldest. */
const SMALLEST_FIRST = 3;

/** How the pool is set up. */
export interface ParsePoolOptions {
  /** Threads at most; 0 parses on the calling thread, without a time-out. */
  readonly workers: number;
  /** For one page, in a thread that has loaded; of several together the later ones have up to twice. */
  readonly timeoutMs: number;
  /**
   * Time of a processor for one page; default 5000. It is measured from the page's first 500 ms on,
   * or from the first half of a shorter time.
   */
  readonly cpuMs?: number;
  /**
   * Pages go one by one, small ones before large ones, and the one that has waited longest in every
   * fourth place. They are copied, so that one that took too long may be parsed by another pool.
   */
  readonly oneByOne?: boolean;
  /** The thread's script; default: `worker` beside this file. */
  readonly script?: URL;
}

/**
 * Why a page was not parsed: it took longer than `timeoutMs` or `cpuMs`; it ended its thread; the
 * pool was closed. Other pages are not affected by the first two.
 */
export type ParseErrorCode = 'parse_timeout' | 'parse_crash' | 'parse_closed';

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
  readonly isSmall: boolean;
}

/** A page that a thread has been at for a while. */
interface Watch {
  /** Its number among the pages handed over. */
  readonly at: number;
  waitedMs: number;
  /** What the thread had used when the page was first looked at. */
  cpuMs: number | null;
}

/** A thread with the pages it has, if any. */
interface Seat {
  readonly worker: Worker;
  /** Its only number, which the thread writes: how many of the pages handed over it has begun. */
  readonly begun: Int32Array;
  loaded: boolean;
  /** In the order in which they are parsed, without those that are answered. */
  jobs: Job[];
  answered: number;
  timer: NodeJS.Timeout | undefined;
  watch: Watch | null;
}

/** A bounded number of threads that run `parsePage`. */
export class ParsePool {
  readonly #options: ParsePoolOptions;
  readonly #seats = new Set<Seat>();
  readonly #idle: Seat[] = [];
  /**
   * Filled by `parse`, emptied by threads that come free. Bound: the requests that are open at a
   * time, each of which waits for its page; the bodies count as memory of `BodyBudget`.
   */
  readonly #queue: Job[] = [];
  /** Runs while the first page of the queue may still wait for others. */
  #patience: NodeJS.Timeout | null = null;
  /** So many go together if they come in time. */
  #awaited = 1;
  /** How many of the smallest pages were taken since the oldest was. */
  #smallest = 0;
  #closed = false;
  /** Runs after a thread that could not load, until another may be started. */
  #restart: NodeJS.Timeout | null = null;
  /** Threads that could not load, one after the other. */
  #unloaded = 0;

  constructor(options: ParsePoolOptions) {
    this.#options = options;
  }

  /**
   * Parses a page on a thread. The body is the pool's until then, and may be empty afterwards: its
   * ArrayBuffer goes to the thread, unless it is a part of one or goes together with others. Then it
   * is copied.
   *
   * @param others how many further pages are under way
   * @throws ParseError
   */
  parse(input: PageInput, others = 0): Promise<ParsedPage> {
    if (this.#closed) return Promise.reject(new ParseError('parse_closed', input.url));
    if (this.#options.workers === 0) return parseHere(input);
    return new Promise((resolve, reject) => {
      const isSmall = !this.#options.oneByOne && input.body.byteLength <= TOGETHER_BYTES_MAX;
      this.#queue.push({ input, resolve, reject, isSmall });
      this.#awaited = Math.min(Math.ceil(others * SHARE_AWAITED), TOGETHER_MAX);
      const isFirst = this.#queue.length === 1 && this.#awaited > 1;
      if (isFirst) this.#patience ??= setTimeout(() => this.#endPatience(), AWAITED_MS_MAX);
      this.#dispatch();
    });
  }

  /** Starts a thread before there is a page for it: later there may not be what it takes. */
  start(): void {
    if (this.#seats.size < this.#options.workers) this.#idle.push(this.#newSeat());
  }

  /** Ends all threads; pages that wait or are being parsed fail with `parse_closed`. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#patience !== null) clearTimeout(this.#patience);
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

  /** Hands over what waits, as far as threads are free and the time has come. */
  #dispatch(): void {
    while (this.#queue.length > 0 && this.#hasRoom && !this.#closed) {
      if (this.#mayGather) return;
      this.#handOver(this.#idle.pop() ?? this.#newSeat(), this.#next());
    }
  }

  #endPatience(): void {
    this.#patience = null;
    this.#dispatch();
  }

  get #mayGather(): boolean {
    if (this.#patience === null || this.#queue.length >= this.#awaited) return false;
    return this.#queue.every(({ isSmall }) => isSmall);
  }

  /** The first page of the queue, and what goes to a thread with it. */
  #next(): Job[] {
    if (this.#options.oneByOne) return this.#queue.splice(this.#nextOne(), 1);
    const large = this.#queue.findIndex(({ isSmall }) => !isSmall);
    const count = large < 0 ? this.#queue.length : Math.max(large, 1);
    const jobs = this.#queue.splice(0, Math.min(count, TOGETHER_MAX));
    if (this.#queue.length === 0 && this.#patience !== null) {
      clearTimeout(this.#patience);
      this.#patience = null;
    }
    return jobs;
  }

  /** The place in the queue of the smallest page, or, so that none waits for ever, of the oldest. */
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
    const none = { loaded: false, jobs: [], answered: 0, timer: undefined, watch: null };
    const seat: Seat = { worker, begun, ...none };
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

  /** To a thread that may not load nothing is given: it may have to go to another one. */
  #post(seat: Seat): void {
    const { jobs } = seat;
    // What goes with others may have to go to another thread as well.
    const ownBytes = jobs.length === 1 && !this.#options.oneByOne ? givenAway : copied;
    const inputs = jobs.map(({ input }) => ({ ...input, body: ownBytes(input.body) }));
    seat.worker.postMessage(
      inputs,
      inputs.map(({ body }) => body.buffer),
    );
    this.#startTimer(seat);
  }

  /** Runs out where the thread is at the same page as now, or at the first one. */
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
        // A thread that sleeps does not answer, so the timer goes on meanwhile.
        this.#watch(seat, watch);
        void this.#checkCpu(seat, watch);
      }
    }, ms);
  }

  async #checkCpu(seat: Seat, watch: Watch): Promise<void> {
    const usage = await seat.worker.cpuUsage().catch(() => null);
    // The thread may have gone on to another page, or be out of service.
    if (usage === null || seat.watch !== watch || atOf(seat) !== watch.at) return;
    const usedMs = (usage.user + usage.system) / 1000;
    watch.cpuMs ??= usedMs;
    if (usedMs - watch.cpuMs >= this.#cpuMs) void this.#end(seat, 'parse_timeout');
  }

  /** One message may answer some of the pages, the next ones the others. */
  #answered(seat: Seat, pages: readonly ParsedPage[]): void {
    // An answer may have been on its way when the time was up.
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

  /** Takes a thread out of service, once, and lets others have its other pages and the next. */
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

  /** Of a thread that ended: whether it had not loaded, and another may do better. */
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

/** Which of the pages handed over the thread is at, or was; the first has number 0. */
function atOf({ begun, answered }: Seat): number {
  return Math.max(Atomics.load(begun, 0) - 1, answered);
}

/** A packed sitemap may unpack to any size. */
function sizeOf({ body, sitemap }: PageInput): number {
  return sitemap !== undefined && isPacked(body) ? SITEMAP_BYTES_MAX : body.byteLength;
}

function fail(job: Job, code: ParseErrorCode, cause?: unknown): void {
  job.reject(new ParseError(code, job.input.url, cause));
}

async function parseHere(input: PageInput): Promise<ParsedPage> {
  // As a rule only the threads need it, and it takes a while to load.
  const { parseDocument } = await import('./document.ts');
  try {
    return await parseDocument(input);
  } catch (cause) {
    throw new ParseError('parse_crash', input.url, cause);
  }
}

/** TypeScript in a checkout, JavaScript where the package was installed: the same as this file. */
function ownScript(): URL {
  return new URL(
    import.meta.url.endsWith('.ts') ? './parse-worker.ts' : './parse-worker.js',
    import.meta.url,
  );
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
