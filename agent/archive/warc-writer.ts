// Writes the files of one agent's archive: each record is compressed separately, and each response
// has a line in the index beside the file. Captures are collected in memory until `flush` writes
// them, records before index lines. The writer is synchronous, because it has a thread of its own.
// After an error nothing may be appended.

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
  /** Identifier of the agent, the first part of file names. */
  readonly agent: string;
  /** A file of this size gets no further record. */
  readonly fileBytes: number;
  readonly compression: Compression;
  /** Whether flushed bytes must survive a power loss. */
  readonly durable: boolean;
  /** Serial number of the first new file. */
  readonly serial: number;
  readonly seen: SeenPayloads;
  /** Fields of the warcinfo record besides its file name. */
  readonly about: Fields;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newId: () => string;
}

/** Larger records are written alone. */
const LARGE_BYTES = 1024 * 1024;

/** A file with the bytes that wait for the next flush. */
class Growing {
  readonly fd: number;
  readonly #path: string;
  #flushed = 0;
  #waiting: Uint8Array[] = [];
  #end = 0;

  constructor(path: string) {
    this.#path = path;
    // Fails if the file exists: no file is ever overwritten.
    this.fd = fs.openSync(path, 'ax');
  }

  /** Bytes, including those that wait. */
  get end(): number {
    return this.#end;
  }

  add(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#end += bytes.byteLength;
  }

  /**
   * On an error the file is cut back to its previous end, if possible.
   * @returns whether there was anything to write
   */
  write(): boolean {
    if (this.#waiting.length === 0) return false;
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      for (const bytes of joined(waiting)) {
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
      // The next start of the agent cuts it.
    }
  }
}

/** Joins small records for one write. A large record is not copied, to save memory. */
function* joined(records: readonly Uint8Array[]): Generator<Uint8Array> {
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

  /** Whether the file has reached `fileBytes`; then `rotate` must be called before `append`. */
  get isFull(): boolean {
    return this.#current !== null && this.#current.warc.end >= this.#o.fileBytes;
  }

  /** Adds a capture to the next flush. Opens a new file if none is open. */
  append(capture: Capture, body: Uint8Array): ArchivePlace {
    const current = this.#current ?? this.#open();
    const { warcinfoId, names, warc, index } = current;
    const { newId, seen, directory } = this.#o;
    const file = names.warc;
    const isKept = (name: string) => name === file || fs.existsSync(join(directory, name));
    const context = { warcinfoId, newId, seen, file, isKept };
    const records = captureRecords(capture, body, context);
    warc.add(this.#packed(records.metadata));
    warc.add(this.#packed(records.request));
    const offset = warc.end;
    const packed = this.#packed(records.response);
    warc.add(packed);
    const place = { length: packed.byteLength, offset, filename: file };
    index.add(Buffer.from(cdxjLine({ ...records.indexed, ...place })));
    const { payload } = records;
    const at = { file, offset, end: warc.end, indexEnd: index.end };
    return payload === undefined ? at : { ...at, payload };
  }

  /** Writes what was appended. On return it is as safe as `durable` requires. */
  flush(): void {
    if (this.#current === null) return;
    const { warc, index } = this.#current;
    // The index is written second, so that each line names a record that exists.
    for (const file of [warc, index]) {
      if (file.write() && this.#o.durable) fs.fdatasyncSync(file.fd);
    }
  }

  /**
   * Closes the file, which must be flushed, and sorts its index. The next capture opens another.
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
      // For example, the disk is full. The index then has all lines, in the order of the records.
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

/** Makes the name of a new file durable, which needs an fsync of its directory. */
function syncDirectory(directory: string): void {
  const fd = fs.openSync(directory, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
