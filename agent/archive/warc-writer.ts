// The files of one agent's archive while they are written: each record packed by itself, each
// response a line of the index beside it. Captures gather in memory and go to disk together
// with `flush`, the records first; what was flushed is on the disk when it returns. Synchronous,
// because it lives in a thread of its own (archive-worker.ts); after an error nothing may be appended.

import fs from 'node:fs';
import { join } from 'node:path';
import type { ArchivePlace, Capture } from './record/capture.ts';
import { captureRecords, warcDate } from './record/capture-records.ts';
import { cdxjLine } from './record/cdxj.ts';
import { type Compression, compressed } from './record/compression.ts';
import { type FileNames, fileNames } from './record/file-name.ts';
import { type Fields, fieldLines, warcRecord } from './record/record.ts';
import type { SeenPayloads } from './record/seen-payloads.ts';
import { sortIndex } from './sorted-index.ts';

export interface WriterOptions {
  readonly directory: string;
  /** Identifier of the agent, first part of the names. */
  readonly agent: string;
  /** A file that has reached so many bytes gets no further record. */
  readonly fileBytes: number;
  readonly compression: Compression;
  /** Whether what was flushed has to survive a loss of power. */
  readonly durable: boolean;
  /** Serial of the first file that it makes. */
  readonly serial: number;
  readonly seen: SeenPayloads;
  /** Fields of the warcinfo record besides its file name. */
  readonly about: Fields;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newId: () => string;
}

/** Written by itself. */
const LARGE_BYTES = 1024 * 1024;

/** A file that grows: what it holds for certain, and what waits for the next flush. */
class Growing {
  readonly fd: number;
  readonly #path: string;
  #flushed = 0;
  #waiting: Uint8Array[] = [];
  #end = 0;

  constructor(path: string) {
    this.#path = path;
    // Fails where the name is taken: nothing is ever written over.
    this.fd = fs.openSync(path, 'ax');
  }

  /** Bytes with those that wait. */
  get end(): number {
    return this.#end;
  }

  add(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#end += bytes.byteLength;
  }

  /** Gives whether there was anything to write. On an error the file ends as it did before. */
  write(): boolean {
    if (this.#waiting.length === 0) return false;
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      for (const bytes of together(waiting)) {
        for (let at = 0; at < bytes.length; ) at += fs.writeSync(this.fd, bytes, at);
      }
    } catch (error) {
      this.#cutBack();
      throw error;
    }
    this.#flushed = this.#end;
    return true;
  }

  #cutBack(): void {
    try {
      fs.truncateSync(this.#path, this.#flushed);
    } catch {
      // The next start cuts it back.
    }
  }
}

/** Small records in one buffer for one write; a large one as it is, since a copy is memory. */
function* together(records: readonly Uint8Array[]): Generator<Uint8Array> {
  let small: Uint8Array[] = [];
  for (const record of records) {
    if (record.byteLength < LARGE_BYTES) {
      small.push(record);
      continue;
    }
    yield Buffer.concat(small);
    small = [];
    yield record;
  }
  yield Buffer.concat(small);
}

interface Current {
  readonly names: FileNames;
  readonly warcinfoId: string;
  readonly warc: Growing;
  readonly index: Growing;
}

export class WarcWriter {
  readonly #o: WriterOptions;
  #serial: number;
  #current: Current | null = null;

  constructor(options: WriterOptions) {
    this.#o = options;
    this.#serial = options.serial;
  }

  /** The file has its size: it takes nothing more, and `rotate` is to be called. */
  get isFull(): boolean {
    return this.#current !== null && this.#current.warc.end >= this.#o.fileBytes;
  }

  /** Adds a capture to what the next flush writes, in a new file if there is none. */
  append(capture: Capture, body: Uint8Array): ArchivePlace {
    const current = this.#current ?? this.#open();
    const { warcinfoId, names, warc, index } = current;
    const { newId, seen } = this.#o;
    const records = captureRecords(capture, body, { warcinfoId, newId, seen });
    warc.add(this.#packed(records.metadata));
    warc.add(this.#packed(records.request));
    const offset = warc.end;
    const packed = this.#packed(records.response);
    warc.add(packed);
    const place = { length: packed.byteLength, offset, filename: names.warc };
    index.add(Buffer.from(cdxjLine({ ...records.indexed, ...place })));
    const { original } = records;
    const at = { file: names.warc, offset, end: warc.end, indexEnd: index.end };
    return original ? { ...at, original } : at;
  }

  /** Writes what was appended; on return it is as safe as `durable` asks for. */
  flush(): void {
    if (this.#current === null) return;
    const { warc, index } = this.#current;
    // The line follows its record: a line that is there names a record that is there.
    for (const file of [warc, index]) {
      if (file.write() && this.#o.durable) fs.fdatasyncSync(file.fd);
    }
  }

  /**
   * Ends the file, and sorts its index; the next capture opens another. Everything in it must have
   * been flushed.
   */
  rotate(): void {
    if (this.#current === null) return;
    fs.closeSync(this.#current.warc.fd);
    fs.closeSync(this.#current.index.fd);
    const index = join(this.#o.directory, this.#current.names.index);
    this.#current = null;
    try {
      sortIndex(index);
    } catch {
      // As a full disk: the index has all lines, in the order of the records.
    }
  }

  #packed(record: Uint8Array): Buffer {
    return compressed(record, this.#o.compression);
  }

  #open(): Current {
    const { directory, agent, now, newId, about, durable, compression } = this.#o;
    const at = now();
    const names = fileNames(agent, at, this.#serial++, compression.format);
    const current: Current = {
      names,
      warcinfoId: `<urn:uuid:${newId()}>`,
      warc: new Growing(join(directory, names.warc)),
      index: new Growing(join(directory, names.index)),
    };
    if (durable) syncDirectory(directory);
    const fields: Fields = [
      ['WARC-Record-ID', current.warcinfoId],
      ['WARC-Date', warcDate(at)],
      ['WARC-Filename', names.warc],
      ['Content-Type', 'application/warc-fields'],
    ];
    const warcinfo = warcRecord('warcinfo', fields, [Buffer.from(fieldLines(about))]);
    current.warc.add(this.#packed(warcinfo));
    this.#current = current;
    return current;
  }
}

/** A file's name is in its directory, which is written for itself. */
function syncDirectory(directory: string): void {
  const fd = fs.openSync(directory, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
