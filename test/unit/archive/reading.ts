// Reads archives back with warcio, as users' tools do: all records of a file in sequence, or one
// record at an offset that an index or a page's row names.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
import { WARCParser } from 'warcio';
import { frameAt, packedIn } from './packed.ts';

export interface ReadRecord {
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For HTTP records: the first line, and the fields in lower case. */
  readonly firstLine: string | null;
  readonly fields: Readonly<Record<string, string>>;
  /** What follows the HTTP head, as stored. */
  readonly payload: Buffer;
  /** The payload with its content coding undone. */
  readonly content: Buffer;
  readonly offset: number;
}

/** Reads all records of a file. Fails if warcio stops before the end or prints a warning. */
export async function readWarc(path: string): Promise<ReadRecord[]> {
  const bytes = fs.readFileSync(path);
  if (path.endsWith('.warc.gz')) return readWarcBytes(bytes);
  // warcio does not support zstd, so it receives each record decompressed.
  const records: ReadRecord[] = [];
  for (const { start, record } of packedIn(path, bytes)) {
    records.push({ ...(await onlyRecord(record)), offset: start });
  }
  return records;
}

/** The path of the index of an archive file. */
export function indexOf(warc: string): string {
  return warc.replace(/\.warc\.(gz|zst)$/, '.cdxj');
}

async function onlyRecord(plain: Uint8Array): Promise<ReadRecord> {
  const [record, ...others] = await readWarcBytes(plain);
  assert.ok(record, 'a frame contains a record');
  assert.equal(others.length, 0, 'a frame contains only one record');
  return record;
}

export async function readWarcBytes(bytes: Uint8Array): Promise<ReadRecord[]> {
  const records: ReadRecord[] = [];
  const said: string[] = [];
  const { warn } = console;
  console.warn = (...words: unknown[]) => said.push(words.join(' '));
  try {
    const parser = new WARCParser(chunks(bytes));
    for await (const record of parser) {
      const { offset } = parser;
      const payload = Buffer.from(await record.readFully(false));
      const content = Buffer.from(await record.readFully(true));
      records.push({
        type: String(record.warcType),
        headers: Object.fromEntries(record.warcHeaders.headers.entries()),
        firstLine: record.httpHeaders?.statusline ?? null,
        fields: Object.fromEntries(record.httpHeaders?.headers.entries() ?? []),
        payload,
        content,
        offset,
      });
    }
  } finally {
    console.warn = warn;
  }
  assert.deepEqual(said, []);
  return records;
}

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

/** Reads the record that begins at the offset, without reading anything before it. */
export async function recordAt(path: string, offset: number): Promise<ReadRecord> {
  const bytes = fs.readFileSync(path).subarray(offset);
  if (path.endsWith('.warc.zst')) {
    const { end } = frameAt(bytes, 0);
    return onlyRecord(zstdDecompressSync(bytes.subarray(0, end)));
  }
  assert.deepEqual([...bytes.subarray(0, 2)], [0x1f, 0x8b], `no member begins at ${offset}`);
  const [record] = await readWarcBytes(bytes);
  assert.ok(record, `no record at ${offset}`);
  return record;
}

/** Decompresses each record separately, and verifies its digests and lengths. */
export function assertDigests(path: string): number {
  let count = 0;
  for (const { start, record } of packedIn(path, fs.readFileSync(path))) {
    const headEnd = record.indexOf('\r\n\r\n') + 4;
    const head = record.toString('utf8', 0, headEnd);
    const length = Number(/^Content-Length: (\d+)\r$/m.exec(head)?.[1]);
    const block = record.subarray(headEnd, headEnd + length);
    assert.equal(record.length, headEnd + length + 4, `${path} at ${start}: length`);
    assert.equal(digestIn(head, 'Block'), sha1(block), `${path} at ${start}: block`);
    const payload = digestIn(head, 'Payload');
    if (payload !== null && /^WARC-Type: response\r$/m.test(head)) {
      const body = block.subarray(block.indexOf('\r\n\r\n') + 4);
      assert.equal(payload, sha1(body), `${path} at ${start}: payload`);
    }
    count++;
  }
  return count;
}

function digestIn(head: string, what: string): string | null {
  return new RegExp(`^WARC-${what}-Digest: sha1:(\\w+)\\r$`, 'm').exec(head)?.[1] ?? null;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * Encodes the digest in base 32 by another method than the product: takes five bits at a time from
 * one large number.
 */
export function sha1(bytes: Uint8Array): string {
  let number = BigInt(`0x${createHash('sha1').update(bytes).digest('hex')}`);
  let text = '';
  for (let k = 0; k < 32; k++) {
    text = alphabet[Number(number & 31n)] + text;
    number >>= 5n;
  }
  return text;
}
