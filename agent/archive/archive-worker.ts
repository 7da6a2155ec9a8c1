// The thread that hashes, compresses and writes the archive, so that the main thread never waits
// for it. Captures are written in the order in which they arrive. Captures that arrive while the
// disk is busy are written in batches, with one fsync for each file. The thread closes a full file
// only when the agent has confirmed that its last record is committed, so after a crash the
// database lacks records of at most one file. After an error the thread writes nothing more.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { monotonicMs } from '../runtime/clock.ts';
import { randomId } from '../runtime/random.ts';
import type { ArchivePlace, Capture } from './record/capture.ts';
import type { Compression } from './record/compression.ts';
import type { Fields } from './record/record.ts';
import { SeenPayloads } from './record/seen-payloads.ts';
import { fillSeen } from './recovery.ts';
import { WarcWriter } from './warc-writer.ts';

export interface WorkerStart {
  readonly directory: string;
  readonly agent: string;
  readonly fileBytes: number;
  readonly compression: Compression;
  readonly durable: boolean;
  readonly serial: number;
  readonly about: Fields;
}

/** One exchange; its place is reported with the same `id`. */
export interface CaptureItem {
  readonly id: number;
  readonly capture: Capture;
  /** In an ArrayBuffer of its own, which is transferred. */
  readonly body: Uint8Array<ArrayBuffer>;
}

export type ToWorker =
  | { readonly type: 'append'; readonly items: readonly CaptureItem[] }
  /** The database has committed all records up to `end`. */
  | { readonly type: 'confirm'; readonly file: string; readonly end: number }
  | { readonly type: 'close' };

export type FromWorker =
  | { readonly type: 'written'; readonly places: readonly (readonly [number, ArchivePlace])[] }
  | { readonly type: 'failed'; readonly message: string; readonly code: string | null };

/** Limit on the bodies of one batch, which is in memory until it is written. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024;

const port = parentPort;
if (port === null)
  throw new Error('agent/archive/archive-worker is a thread of Archive, not a program');

const start = workerData as WorkerStart;
const seen = new SeenPayloads();
let writer: WarcWriter | null = null;
let failed = false;
/** Filled by the agent, which limits its bytes; emptied by `write`. */
const queue: CaptureItem[] = [];
let last: ArchivePlace | null = null;
let confirmed: { readonly file: string; readonly end: number } | null = null;
let closing = false;

function receive(message: ToWorker): void {
  if (message.type === 'append') queue.push(...message.items);
  else if (message.type === 'confirm') confirmed = message;
  else closing = true;
}

/** Writes the queued captures; they wait while a full file is not confirmed. */
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
  receive(first);
  for (let next = receiveMessageOnPort(port!); next; next = receiveMessageOnPort(port!)) {
    receive(next.message as ToWorker);
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
