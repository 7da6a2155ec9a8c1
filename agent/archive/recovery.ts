// Repairs the archive of an earlier run before anything is written. It cuts the newest file after
// its last whole record that the index has, so that a torn record disappears. Whole records stay,
// also those that the database has not committed: the database may be an older copy, and copies of
// its rows at other agents may name these records. Only the newest file can need a cut, because the
// writer begins a file only when the last record of the previous one is committed.

import fs from 'node:fs';
import { join } from 'node:path';
import type { ArchivePosition } from './record/capture.ts';
import { readCdxjLine } from './record/cdxj.ts';
import { type FileNames, readFileName, serialOf } from './record/file-name.ts';
import type { SeenPayloads } from './record/seen-payloads.ts';
import { sortIndex } from './sorted-index.ts';

/** Bytes at the end of an index file that are read for earlier payloads: some 30,000 lines. */
const INDEX_TAIL_BYTES = 8 * 1024 * 1024;
/**
 * A file of at most this size without whole records is deleted: only its warcinfo record is lost.
 */
const HARDLY_BEGUN_BYTES = 64 * 1024;

export interface Recovered {
  /** Serial number of the next file. */
  readonly serial: number;
  /** Records that the database has and the file has lost: those from this offset on. */
  readonly lost: { readonly file: string; readonly from: number } | null;
  /** A message for the operator; usually null. */
  readonly notice: string | null;
}

interface Found extends FileNames {
  readonly bytes: number;
}

/** @param known - how far the database knows the archive; null if it has no position */
export function recoverArchive(
  directory: string,
  agent: string,
  known: ArchivePosition | null,
): Recovered {
  const files = filesOf(directory, agent);
  const newest = files.at(-1);
  const serial = (newest?.serial ?? 0) + 1;
  const unharmed = { serial, lost: null, notice: null };
  if (newest !== undefined) {
    const isExact = known?.file === newest.warc && newest.bytes === known.end;
    const end = isExact ? known.end : wholeRecords(directory, newest);
    if (known?.file === newest.warc && newest.bytes >= known.end) {
      cut(directory, newest, Math.max(known.end, end));
      return unharmed;
    }
    if (end > 0 || newest.bytes <= HARDLY_BEGUN_BYTES) cut(directory, newest, end);
    if (known?.file === newest.warc) {
      const repair =
        newest.bytes > HARDLY_BEGUN_BYTES && end === 0
          ? 'its index has no whole record, so it stays as it is'
          : 'it was cut after its last whole record';
      const notice =
        `${join(directory, newest.warc)} has ${newest.bytes} bytes, but the state expects ` +
        `${known.end}: ${repair}, and the pages of lost records that the state has are queued again`;
      return { serial, lost: { file: newest.warc, from: end }, notice };
    }
  }
  if (known === null || files.some(({ warc }) => warc === known.file)) return unharmed;
  // Finished files may be moved elsewhere, so their pages stay done.
  const notice = `${known.file}, which the state names, is no longer in the archive`;
  return { serial: Math.max(serial, serialOf(known.file) + 1), lost: null, notice };
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

/**
 * Cuts the WARC file at `end`, and sorts the lines of its remaining records in the index, since
 * neither file grows any more. Deletes both files if no record remains.
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
 * The end of the last record that has a whole line in the index; 0 if there is none. The writer
 * writes the line after the record, and the response is the last of its group. The lines are in any
 * order.
 */
function wholeRecords(directory: string, names: Found): number {
  const index = join(directory, names.index);
  if (!fs.existsSync(index)) return 0;
  let last = 0;
  const lines = fs.readFileSync(index, 'latin1').split('\n');
  // The text after the last line end is a torn line, or empty.
  lines.pop();
  for (const line of lines) {
    const entry = readCdxjLine(line);
    const end = entry ? entry.offset + entry.length : 0;
    if (end <= names.bytes && end > last) last = end;
  }
  return last;
}

/** The end of a file as text; empty if the file is empty or missing. */
function readTail(path: string): string {
  const size = fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
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

/** Adds payloads of earlier runs, the newest index files first, until `seen` is full. */
export function fillSeen(directory: string, agent: string, seen: SeenPayloads): void {
  for (const { index, warc } of filesOf(directory, agent).reverse()) {
    for (const line of readTail(join(directory, index)).split('\n').reverse()) {
      if (seen.isFull) return;
      const entry = readCdxjLine(line);
      if (entry === null || entry.mime === 'warc/revisit') continue;
      seen.add(entry.digest, { url: entry.url, date: entry.date, file: warc });
    }
  }
}
