// The agent's side of the archive: takes captures, and returns the place of each response when it
// is on disk. The row of a page is committed after that, so it never names a record that a
// crash (if `durable`, a power loss) destroyed. A thread writes several captures at a
// time, because each message and each fsync is expensive. The bytes sent and not yet written
// are limited. Further captures wait, and so do the visits that fetched them, which slows the crawl
// down. A large capture takes tenths of a second to compress, so the thread has only one of them at
// a time, and small captures are sent before waiting large ones.

import fs from 'node:fs';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type ArchiveError, archiveErrorOf } from './archive-failure.ts';
import type { CaptureItem, FromWorker, ToWorker, WorkerStart } from './archive-worker.ts';
import { keptOriginal, type LatestRecord } from './kept-original.ts';
import type { ArchivedPayload, ArchivePlace, ArchivePosition, Capture } from './record/capture.ts';
import type { Compression } from './record/compression.ts';
import type { Fields } from './record/record.ts';
import { type Recovered, recoverArchive } from './recovery.ts';

/** Limit on the bytes of small bodies that are sent to the thread and not yet written. */
const HANDED_BYTES_MAX = 64 * 1024 * 1024;
/** Larger bodies are sent one at a time. */
const LARGE_BYTES = 1024 * 1024;
/**
 * An idle thread gets the waiting captures when their number is this share of the other open
 * exchanges. With up to eight other exchanges, one capture is enough.
 */
const SHARE_AWAITED = 1 / 8;
/** Maximum time in milliseconds that a capture waits for others. */
const AWAITED_MS_MAX = 8;

interface ArchiveOptions {
  /** `DATA/ID/warc`; created if it does not exist. */
  readonly directory: string;
  readonly agent: string;
  /** `archive.fileBytes` of the config. */
  readonly fileBytes: number;
  /** Compression of new files. Files of earlier runs stay as they are. */
  readonly compression: Compression;
  /** Whether a record must be safe from a power loss before its place is returned. */
  readonly durable: boolean;
  /** Fields of the warcinfo record of each file. */
  readonly about: Fields;
  /** The last position that the database has committed; null if there is none. */
  readonly known: ArchivePosition | null;
  /** Called once, when nothing more can be archived. */
  readonly onFailure: (error: ArchiveError) => void;
  /** Script of the thread; default: `archive-worker` beside this file. */
  readonly script?: URL;
}

const NO_BYTES = new Uint8Array(0);
/** Little that the thread allocates lives long; a larger young generation would be wasted. */
const HEAP = { maxYoungGenerationSizeMb: 8 };

interface Job {
  readonly capture: Capture;
  readonly body: Uint8Array[];
  readonly bytes: number;
  readonly resolve: (place: ArchivePlace | null) => void;
}

export class Archive {
  readonly #o: ArchiveOptions;
  readonly recovered: Recovered;
  #worker: Worker | null = null;
  /** Filled by `append`, with at most one capture per visit; emptied as bytes are written. */
  readonly #waiting: Job[] = [];
  readonly #handed = new Map<number, Job>();
  /** Bytes of the small bodies in `#handed`. */
  #handedBytes = 0;
  #handsLarge = false;
  /** Timer that ends the wait for more captures. */
  #gathering: NodeJS.Timeout | null = null;
  #lastId = 0;
  #isOver = false;

  /**
   * Creates the directory, and recovers the files of an earlier run.
   * @throws ArchiveError
   */
  constructor(options: ArchiveOptions) {
    this.#o = options;
    const { directory, agent, known } = options;
    try {
      fs.mkdirSync(directory, { recursive: true });
      this.recovered = recoverArchive(directory, agent, known);
    } catch (error) {
      throw archiveErrorOf(error, directory);
    }
  }

  /**
   * Archives one exchange.
   * @param body - as received; its pieces must not change, and are replaced by empty ones
   * @param others - number of other exchanges under way
   * @returns the place of the response, once it is written; null if the archive failed or was
   *   closed before
   */
  append(capture: Capture, body: Uint8Array[], others = 0): Promise<ArchivePlace | null> {
    if (this.#isOver) return Promise.resolve(null);
    return new Promise((resolve) => {
      const bytes = body.reduce((sum, part) => sum + part.byteLength, 0);
      this.#waiting.push({ capture, body, bytes, resolve });
      const isIdle = this.#handed.size === 0;
      if (isIdle && this.#waiting.length >= others * SHARE_AWAITED) this.#pump();
      else this.#gathering ??= setTimeout(() => this.#pump(), AWAITED_MS_MAX);
    });
  }

  /**
   * The record that has the payload of a page, if a file of this archive still has it. Never rejects.
   *
   * @param latest - the latest record of the page, maybe in the archive of another agent
   */
  originalOf(latest: LatestRecord): Promise<ArchivedPayload | null> {
    return keptOriginal(this.#o.directory, this.#o.agent, latest);
  }

  /** Reports to the thread that the database has committed everything up to this place. */
  confirm({ file, end }: ArchivePosition): void {
    this.#worker?.postMessage({ type: 'confirm', file, end } satisfies ToWorker);
  }

  /** Lets the thread write what was sent to it, if it can, and ends the thread. */
  async close(): Promise<void> {
    const wasOver = this.#isOver;
    if (!wasOver) this.#pump();
    this.#isOver = true;
    this.#abandon(this.#waiting.splice(0));
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

  /** Sends the waiting captures for which there is room, in one message. */
  #pump(): void {
    if (this.#gathering) clearTimeout(this.#gathering);
    this.#gathering = null;
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
    // Large captures do not count towards the limit: small ones would always fill it before them.
    if (isLarge(job)) return !this.#handsLarge;
    return this.#handedBytes + job.bytes <= HANDED_BYTES_MAX;
  }

  #startWorker(): Worker {
    const { directory, agent, fileBytes, compression, durable, about } = this.#o;
    const { serial } = this.recovered;
    const start = { directory, agent, fileBytes, compression, durable, about, serial };
    const worker = new Worker(this.#o.script ?? ownScript(), {
      workerData: start satisfies WorkerStart,
      resourceLimits: HEAP,
    });
    worker.on('message', (message: FromWorker) => {
      if (message.type === 'written') this.#written(message.places);
      else this.#fail(Object.assign(new Error(message.message), { code: message.code }));
    });
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', (code) => {
      // After an unexpected exit, waiting captures would otherwise wait for ever.
      this.#fail(new Error(`the archive thread exited with code ${code}`));
      this.#abandon(this.#handed.values());
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
    this.#abandon([...this.#handed.values(), ...this.#waiting.splice(0)]);
  }

  #abandon(jobs: Iterable<Job>): void {
    for (const job of jobs) job.resolve(null);
  }
}

function isLarge({ bytes }: Job): boolean {
  return bytes > LARGE_BYTES;
}

/** The body in an ArrayBuffer of its own, which can be transferred. */
function joined({ body, bytes }: Job): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let offset = 0;
  for (const [k, part] of body.entries()) {
    whole.set(part, offset);
    offset += part.byteLength;
    // Frees the piece: the job lasts until the record is on disk.
    body[k] = NO_BYTES;
  }
  return whole;
}

/** `.ts` in a checkout, `.js` in an installed package: the same as this file. */
function ownScript(): URL {
  return new URL(`./archive-worker${extname(import.meta.url)}`, import.meta.url);
}
