// The thread that hashes, compresses and writes the archive, so that the agent's loop waits for
// none of it. Captures are written in the order in which they come; whatever came while the disk
// was busy is one batch, with one fsync a file. A full file is left only when the agent has said
// that its last record is committed: so a crash can leave but one file that the database does not
// know to its end. After an error it writes nothing more. Started by archive.ts.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { monotonicMs } from '../runtime/clock.ts';
import { randomId } from '../runtime/random.ts';
import type { ArchivePlace, Capture } from './record/capture.ts';
import type { Compression } from './record/compression.ts';
import type { Fields } from './record/record.ts';
import { SeenPayloads } from './record/seen-payloads.ts';
import { fillSeen } from './recovery.ts';
import { WarcWriter } from './warc-writer.ts';

/** What the thread is started with. */
export interface WorkerStart {
  readonly directory: string;
  readonly agent: string;
  readonly fileBytes: number;
  readonly compression: Compression;
  readonly durable: boolean;
  readonly serial: number;
  readonly about: Fields;
}

/** One exchange, under the number by which its place is told. */
export interface CaptureItem {
  readonly id: number;
  readonly capture: Capture;
  /** In a buffer of its own, which is given away. */
  readonly body: Uint8Array<ArrayBuffer>;
}

export type ToWorker =
  | { readonly type: 'append'; readonly items: readonly CaptureItem[] }
  /** Committed in the database up to here. */
  | { readonly type: 'confirm'; readonly file: string; readonly end: number }
  | { readonly type: 'close' };

export type FromWorker =
  | { readonly type: 'written'; readonly places: readonly (readonly [number, ArchivePlace])[] }
  | { readonly type: 'failed'; readonly message: string; readonly code: string | null };

/** A batch gathers no more than this in memory before it is written. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024;

const port = parentPort;
if (port === null)
  throw new Error('agent/archive/archive-worker is a thread of Archive, not a program');

const start = workerData as WorkerStart;
const seen = new SeenPayloads();
let writer: WarcWriter | null = null;
let failed = false;
/** Filled by the agent, which bounds it by bytes; emptied by `write`. */
const queue: CaptureItem[] = [];
let last: ArchivePlace | null = null;
let confirmed: { readonly file: string; readonly end: number } | null = null;
let closing = false;

function take(message: ToWorker): void {
  if (message.type === 'append') queue.push(...message.items);
  else if (message.type === 'confirm') confirmed = message;
  else closing = true;
}

/** Writes what it may; what has to wait for a confirmation stays in the queue. */
function write(to: WarcWriter): void {
  while (queue.length > 0) {
    if (to.isFull) {
      if (last === null || confirmed?.file !== last.file || confirmed.end < last.end) return;
      to.rotate();
    }
    const places: [number, ArchivePlace][] = [];
    for (let bytes = 0; queue.length > 0 && bytes < BATCH_BYTES_MAX && !to.isFull; ) {
      const { id, capture, body } = queue.shift()!;
      last = to.append(capture, body);
      places.push([id, last]);
      bytes += body.byteLength;
    }
    to.flush();
    port!.postMessage({ type: 'written', places } satisfies FromWorker);
  }
}

function onMessage(first: ToWorker): void {
  take(first);
  for (let next = receiveMessageOnPort(port!); next; next = receiveMessageOnPort(port!)) {
    take(next.message as ToWorker);
  }
  if (failed) queue.length = 0;
  else {
    try {
      if (writer === null) {
        fillSeen(start.directory, start.agent, seen);
        writer = new WarcWriter({ ...start, seen, now: monotonicMs, newId: randomId });
      }
      write(writer);
    } catch (error) {
      failed = true;
      const code = error instanceof Error && 'code' in error ? String(error.code) : null;
      const message = error instanceof Error ? error.message : String(error);
      port!.postMessage({ type: 'failed', message, code } satisfies FromWorker);
    }
  }
  if (!closing) return;
  if (!failed) writer?.rotate();
  port!.close();
}

port.on('message', onMessage);
