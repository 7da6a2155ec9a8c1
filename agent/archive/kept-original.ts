// Finds the record that has the payload of a page, from the place of the page's latest record. Only
// records in files of the agent's own archive count, and the files must exist: files may be deleted
// or moved away at any time, and a page that came from another agent names that agent's archive.
// The head of the latest record tells all: a response has the payload itself, a revisit names the
// URL, date and file of the record that has it. One short read per page, only in later rounds.

import fs from 'node:fs';
import { join } from 'node:path';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import type { ArchivedPayload } from './record/capture.ts';
import { readFileName } from './record/file-name.ts';

/** What the row of a page knows of its latest record. */
export interface LatestRecord {
  readonly warcFile?: string;
  readonly warcOffset?: number;
  /** SHA-1 in base 32. */
  readonly payload?: string;
}

/**
 * Bytes that are read of a record, until its head is whole. The second part is for zstd, which
 * decompresses only whole blocks, of up to 128 KiB.
 */
const READ_BYTES = [4 * 1024, 256 * 1024];
/** Limit on a head with two URLs. */
const HEAD_BYTES_MAX = 64 * 1024;
const CHUNK_BYTES = 4 * 1024;
const HEAD_END = '\r\n\r\n';

/** @returns null: no file of this archive has the payload, or it cannot be read */
export async function keptOriginal(
  directory: string,
  agent: string,
  { warcFile, warcOffset, payload }: LatestRecord,
): Promise<ArchivedPayload | null> {
  if (warcFile === undefined || warcOffset === undefined || payload === undefined) return null;
  if (readFileName(agent, warcFile) === null) return null;
  const head = await headAt(join(directory, warcFile), warcOffset).catch(() => null);
  const fields = head === null ? null : fieldsOf(head);
  if (fields?.get('warc-payload-digest') !== `sha1:${payload}`) return null;
  const isWhole = fields.get('warc-type') === 'response' && !fields.has('warc-truncated');
  const url = fields.get(isWhole ? 'warc-target-uri' : 'warc-refers-to-target-uri');
  const date = fields.get(isWhole ? 'warc-date' : 'warc-refers-to-date');
  // Earlier builds did not write the file. Some of their revisits name no record.
  const file = isWhole ? warcFile : fields.get('warc-refers-to-filename');
  if (url === undefined || date === undefined || file === undefined) return null;
  if (readFileName(agent, file) === null || !fs.existsSync(join(directory, file))) return null;
  return { payload, url, date, file };
}

/** The head of the record, without its end; null if none is found. */
async function headAt(path: string, offset: number): Promise<string | null> {
  const file = await fs.promises.open(path, 'r');
  try {
    for (const bytes of READ_BYTES) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, offset);
      const head = await headIn(buffer.subarray(0, bytesRead), path.endsWith('.zst'));
      if (head !== null) return head;
    }
    return null;
  } finally {
    await file.close();
  }
}

/** @param bytes - the beginning of a compressed record */
async function headIn(bytes: Uint8Array, isZstd: boolean): Promise<string | null> {
  const chunkSize = CHUNK_BYTES;
  // A stream, because a few bytes may decompress to megabytes. The input may end anywhere.
  const plain = isZstd
    ? createZstdDecompress({ chunkSize, finishFlush: constants.ZSTD_e_continue })
    : createGunzip({ chunkSize, finishFlush: constants.Z_SYNC_FLUSH });
  plain.end(bytes);
  let text = Buffer.alloc(0);
  for await (const chunk of plain) {
    text = Buffer.concat([text, chunk as Uint8Array]);
    const end = text.indexOf(HEAD_END);
    if (end >= 0) return text.toString('utf8', 0, end);
    if (text.byteLength > HEAD_BYTES_MAX) return null;
  }
  return null;
}

/** The fields by their names in lower case. */
function fieldsOf(head: string): Map<string, string> {
  const [version, ...lines] = head.split('\r\n');
  if (version !== 'WARC/1.1') return new Map();
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
}
