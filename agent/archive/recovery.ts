// What a start makes of the archive that an earlier life left: it ends the newest file where the
// database knows it to end, so that what a kill tore, and what was written after the last record
// that is committed, is gone from the file and from its index; the pages concerned are fetched
// again. (A record before that one, whose page the kill took, stays: it tells of a request that
// was made.) Only the newest file can be concerned: the writer begins a file when the last record
// of the one before is committed.
// Where the database knows nothing of the file, because it is new or was set aside, whole records
// stay. Called by archive.ts before anything is written.

import fs from 'node:fs';
import { join } from 'node:path';
import type { ArchivePosition } from './record/capture.ts';
import { readCdxjLine } from './record/cdxj.ts';
import { type FileNames, readFileName, serialOf } from './record/file-name.ts';
import type { SeenPayloads } from './record/seen-payloads.ts';
import { sortIndex } from './sorted-index.ts';

/** As much of an index file is read for earlier payloads: some 30,000 lines. */
const INDEX_TAIL_BYTES = 8 * 1024 * 1024;
/** A file of one warcinfo record and perhaps a torn one: nothing is lost with it. */
const HARDLY_BEGUN_BYTES = 64 * 1024;

export interface Recovered {
  /** Of the next file. */
  readonly serial: number;
  /** Records that the database has and the file no longer: from this offset of the file on. */
  readonly lost: { readonly file: string; readonly from: number } | null;
  /** What a person should know; null as a rule. */
  readonly notice: string | null;
}

interface Found extends FileNames {
  readonly bytes: number;
}

/** @param known how far the database knows the archive; null: it does not. */
export function recoverArchive(
  directory: string,
  agent: string,
  known: ArchivePosition | null,
): Recovered {
  const files = filesOf(directory, agent);
  const newest = files.at(-1);
  const before = files.at(-2);
  if (newest === undefined) return missing(known, 1);
  const serial = newest.serial + 1;
  if (known?.file === newest.warc && newest.bytes >= known.end) {
    cut(directory, newest, known.end);
    return { serial, lost: null, notice: null };
  }
  if (known !== null && before?.warc === known.file && before.bytes === known.end) {
    // Begun after the last commit: none of it is known.
    cut(directory, newest, 0);
    return { serial, lost: null, notice: null };
  }
  const end = wholeRecords(directory, newest);
  if (end > 0 || newest.bytes <= HARDLY_BEGUN_BYTES) cut(directory, newest, end);
  if (known === null) return { serial, lost: null, notice: null };
  if (known.file !== newest.warc) return missingUnless(files, known, serial);
  const notice =
    `${join(directory, newest.warc)} has ${newest.bytes} bytes where the state knows ` +
    `${known.end}: it was cut to its last whole record, and the pages beyond are queued again`;
  return { serial, lost: { file: newest.warc, from: end }, notice };
}

function missingUnless(files: readonly Found[], known: ArchivePosition, serial: number): Recovered {
  if (files.some(({ warc }) => warc === known.file)) return { serial, lost: null, notice: null };
  return missing(known, serial);
}

/** Whoever moves finished files elsewhere does nothing wrong: their pages stay done. */
function missing(known: ArchivePosition | null, serial: number): Recovered {
  if (known === null) return { serial, lost: null, notice: null };
  const next = Math.max(serial, serialOf(known.file) + 1);
  const notice = `${known.file}, which the state knows, is not in the archive any more`;
  return { serial: next, lost: null, notice };
}

function filesOf(directory: string, agent: string): Found[] {
  const found: Found[] = [];
  for (const name of fs.readdirSync(directory)) {
    const names = readFileName(agent, name);
    if (names === null) continue;
    const { size } = fs.statSync(join(directory, name));
    found.push({ ...names, bytes: size });
  }
  return found.sort((a, b) => a.serial - b.serial);
}

function sizeOf(path: string): number {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Cuts the WARC file there, and sorts the lines of its remaining records in the index: neither file
 * grows any more. Deletes both files where no record would remain.
 */
function cut(directory: string, names: Found, end: number): void {
  const warc = join(directory, names.warc);
  const index = join(directory, names.index);
  if (end === 0) {
    fs.rmSync(index, { force: true });
    fs.rmSync(warc);
    return;
  }
  if (names.bytes > end) fs.truncateSync(warc, end);
  if (fs.existsSync(index)) sortIndex(index, end);
}

/**
 * The end of the last record that has a whole line in the index; 0 where no record has one. The writer
 * writes the line after the record, and the response is the last record of its group. The lines may
 * be in any order.
 */
function wholeRecords(directory: string, names: Found): number {
  const index = join(directory, names.index);
  if (!fs.existsSync(index)) return 0;
  let last = 0;
  const lines = fs.readFileSync(index, 'latin1').split('\n');
  // What follows the last line end is torn, or nothing.
  lines.pop();
  for (const line of lines) {
    const entry = readCdxjLine(line);
    const end = entry ? entry.offset + entry.length : 0;
    if (end <= names.bytes && end > last) last = end;
  }
  return last;
}

/** The last part of a file as text; empty where there is none. */
function readTail(path: string): string {
  const size = sizeOf(path);
  if (size === 0) return '';
  const from = Math.max(0, size - INDEX_TAIL_BYTES);
  const fd = fs.openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(size - from);
    const read = fs.readSync(fd, bytes, 0, bytes.length, from);
    return bytes.toString('utf8', 0, read);
  } finally {
    fs.closeSync(fd);
  }
}

/** Payloads of earlier lives, from the newest index files on until there are enough. */
export function fillSeen(directory: string, agent: string, seen: SeenPayloads): void {
  for (const { index } of filesOf(directory, agent).reverse()) {
    for (const line of readTail(join(directory, index)).split('\n').reverse()) {
      if (seen.isFull) return;
      const entry = readCdxjLine(line);
      if (entry === null || entry.mime === 'warc/revisit') continue;
      seen.add(entry.digest, { url: entry.url, date: entry.date });
    }
  }
}
