// The archive as the agent sees it: captures in, the places of their records out, each once its
// record is on disk. So a page's row, which is committed after that, never names a record that a
// kill or a loss of power took. The work is done in a thread (archive-worker.ts), started by the first
// capture. Captures go to it several at a time, since a message and an fsync cost more than a page;
// the bytes on their way to it are bounded, and what is beyond waits with the visit that fetched
// it, so the visits slow down. A large capture takes tenths of a second to pack: the thread has one of
// them at a time, and small ones overtake the others. Put together by agent.ts.

import fs from 'node:fs';
import { Worker } from 'node:worker_threads';
import { type ArchiveError, archiveErrorOf } from './archive-failure.ts';
import type { CaptureItem, FromWorker, ToWorker, WorkerStart } from './archive-worker.ts';
import type { ArchivePlace, ArchivePosition, Capture } from './record/capture.ts';
import type { Compression } from './record/compression.ts';
import type { Fields } from './record/record.ts';
import { type Recovered, recoverArchive } from './recovery.ts';

/** Small bodies handed to the thread and not yet written. */
const HANDED_BYTES_MAX = 64 * 1024 * 1024;
const LARGE_BYTES = 1024 * 1024;
/**
 * A capture waits until the thread is idle and it is one of an eighth of those that may come, much
 * as an outcome waits for its turn (runtime/turns.ts). Where little is under way it waits for the thread
 * alone, and never longer than this.
 */
const SHARE_AWAITED = 1 / 8;
const AWAITED_MS_MAX = 8;

export interface ArchiveOptions {
  /** `DATA/ID/warc`; made if it does not exist. */
  readonly directory: string;
  readonly agent: string;
  /** `archive.fileBytes` of the config. */
  readonly fileBytes: number;
  /** Of the files that are begun; those of earlier lives stay as they are. */
  readonly compression: Compression;
  /** Whether a record has to survive a loss of power before its place is told. */
  readonly durable: boolean;
  /** Fields of each file's warcinfo record. */
  readonly about: Fields;
  /** How far the database knows the archive; null where it knows none. */
  readonly known: ArchivePosition | null;
  /** Called once: nothing more can be archived. */
  readonly onFailure: (error: ArchiveError) => void;
  /** The thread's script; default: `worker` beside this file. */
  readonly script?: URL;
}

const NO_BYTES = new Uint8Array(0);
/** What the thread makes it drops at once: more room for it is memory that nobody needs. */
const HEAP = { maxYoungGenerationSizeMb: 8 };

interface Job {
  readonly capture: Capture;
  readonly body: Uint8Array[];
  readonly bytes: number;
  readonly resolve: (place: ArchivePlace | null) => void;
}

export class Archive {
  readonly #o: ArchiveOptions;
  readonly #recovered: Recovered;
  #worker: Worker | null = null;
  /** Filled by `append`, one a visit at most; emptied as bytes come free. */
  readonly #waiting: Job[] = [];
  readonly #handed = new Map<number, Job>();
  /** Of small bodies. */
  #handedBytes = 0;
  #handsLarge = false;
  /** Ends the wait of captures for others. */
  #patience: NodeJS.Timeout | null = null;
  #lastId = 0;
  #isOver = false;

  /**
   * Makes the directory, and ends what an earlier life left at what the database knows.
   *
   * @throws ArchiveError
   */
  constructor(options: ArchiveOptions) {
    this.#o = options;
    const { directory, agent, known } = options;
    try {
      fs.mkdirSync(directory, { recursive: true });
      this.#recovered = recoverArchive(directory, agent, known);
    } catch (error) {
      throw archiveErrorOf(error, directory);
    }
  }

  /** What the start found; see {@link Recovered}. */
  get recovered(): Recovered {
    return this.#recovered;
  }

  /**
   * Archives one exchange.
   *
   * @param body as received; its pieces must not change, and are taken out of the list
   * @param others how many further exchanges are under way
   * @returns where the response is, once it is on disk; null where the archive failed or was
   * closed before
   */
  append(capture: Capture, body: Uint8Array[], others = 0): Promise<ArchivePlace | null> {
    if (this.#isOver) return Promise.resolve(null);
    return new Promise((resolve) => {
      const bytes = body.reduce((sum, part) => sum + part.byteLength, 0);
      this.#waiting.push({ capture, body, bytes, resolve });
      const isIdle = this.#handed.size === 0;
      if (isIdle && this.#waiting.length >= others * SHARE_AWAITED) this.#pump();
      else this.#patience ??= setTimeout(() => this.#pump(), AWAITED_MS_MAX);
    });
  }

  /** The database has committed what it was told up to this place. */
  confirm({ file, end }: ArchivePosition): void {
    this.#worker?.postMessage({ type: 'confirm', file, end } satisfies ToWorker);
  }

  /** Lets what was handed over be written as far as it can be, and ends the thread. */
  async close(): Promise<void> {
    const wasOver = this.#isOver;
    if (!wasOver) this.#pump();
    this.#isOver = true;
    this.#giveUp(this.#waiting.splice(0));
    const worker = this.#worker;
    if (worker === null) return;
    if (wasOver) {
      await worker.terminate();
      return;
    }
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage({ type: 'close' } satisfies ToWorker);
    await ended;
  }

  /** Hands over what waits, as far as there is room, in one message. */
  #pump(): void {
    if (this.#patience) clearTimeout(this.#patience);
    this.#patience = null;
    const items: CaptureItem[] = [];
    const smallFirst = (a: Job, b: Job) => Number(isLarge(a)) - Number(isLarge(b));
    for (const job of this.#waiting.splice(0).toSorted(smallFirst)) {
      if (!this.#hasRoomFor(job)) {
        this.#waiting.push(job);
        continue;
      }
      const id = ++this.#lastId;
      this.#handed.set(id, job);
      if (isLarge(job)) this.#handsLarge = true;
      else this.#handedBytes += job.bytes;
      items.push({ id, capture: job.capture, body: joined(job) });
    }
    if (items.length === 0) return;
    this.#worker ??= this.#startWorker();
    const buffers = items.map(({ body }) => body.buffer);
    this.#worker.postMessage({ type: 'append', items } satisfies ToWorker, buffers);
  }

  #hasRoomFor(job: Job): boolean {
    // If it had to wait for room, small ones would take that room for ever.
    if (isLarge(job)) return !this.#handsLarge;
    return this.#handedBytes + job.bytes <= HANDED_BYTES_MAX;
  }

  #startWorker(): Worker {
    const { directory, agent, fileBytes, compression, durable, about } = this.#o;
    const { script = ownScript() } = this.#o;
    const { serial } = this.#recovered;
    const form = { fileBytes, compression };
    const workerData: WorkerStart = { directory, agent, ...form, durable, about, serial };
    const worker = new Worker(script, { workerData, resourceLimits: HEAP });
    worker.on('message', (message: FromWorker) => {
      if (message.type === 'written') this.#written(message.places);
      else this.#fail(Object.assign(new Error(message.message), { code: message.code }));
    });
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', (code) => {
      // Not told to close: what is appended from now on would be waited for without end.
      this.#fail(new Error(`the thread that writes ended with ${code}`));
      this.#giveUp(this.#handed.values());
    });
    return worker;
  }

  #written(places: readonly (readonly [number, ArchivePlace])[]): void {
    for (const [id, place] of places) {
      const job = this.#handed.get(id);
      if (job === undefined) continue;
      this.#handed.delete(id);
      if (isLarge(job)) this.#handsLarge = false;
      else this.#handedBytes -= job.bytes;
      job.resolve(place);
    }
    this.#pump();
  }

  #fail(cause: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#o.onFailure(archiveErrorOf(cause, this.#o.directory));
    this.#giveUp([...this.#handed.values(), ...this.#waiting.splice(0)]);
  }

  #giveUp(jobs: Iterable<Job>): void {
    for (const job of jobs) job.resolve(null);
  }
}

function isLarge({ bytes }: Job): boolean {
  return bytes > LARGE_BYTES;
}

/** One buffer of its own, which can be given away. */
function joined({ body, bytes }: Job): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let offset = 0;
  for (const [k, part] of body.entries()) {
    whole.set(part, offset);
    offset += part.byteLength;
    // Frees it: the job lasts until the record is on disk.
    body[k] = NO_BYTES;
  }
  return whole;
}

/** TypeScript in a checkout, JavaScript where the package was installed: the same as this file. */
function ownScript(): URL {
  return new URL(
    import.meta.url.endsWith('.ts') ? './archive-worker.ts' : './archive-worker.js',
    import.meta.url,
  );
}
