// Finds the compressed records of an archive file without its index and without the product's code:
// gzip members by their first bytes, zstd frames by the lengths in their headers (RFC 8878, 3.1.1).
// Fails for a frame that the proposal for `.warc.zst` does not allow.

import assert from 'node:assert/strict';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';

/** The position of a record, and its decompressed bytes. */
export interface Packed {
  readonly start: number;
  readonly end: number;
  readonly record: Buffer;
}

/** @param name its suffix selects the compression format */
export function packedIn(name: string, bytes: Buffer): Packed[] {
  if (name.endsWith('.warc.zst')) {
    return framesIn(bytes).map(({ start, end, contentBytes }) => {
      const record = zstdDecompressSync(bytes.subarray(start, end));
      assert.equal(record.length, contentBytes, `${name} at ${start}: size in the frame's head`);
      return { start, end, record };
    });
  }
  assert.ok(name.endsWith('.warc.gz'), name);
  return membersIn(bytes).map(({ start, end }) => {
    return { start, end, record: gunzipSync(bytes.subarray(start, end)) };
  });
}

/**
 * Decompresses the first bytes to test whether a record begins here; bytes that look like a gzip
 * header by chance do not decompress.
 */
function membersIn(bytes: Buffer): { start: number; end: number }[] {
  const starts: number[] = [];
  for (let at = bytes.indexOf('\x1f\x8b\x08', 0, 'latin1'); at >= 0; ) {
    if (beginsRecord(bytes.subarray(at))) starts.push(at);
    at = bytes.indexOf('\x1f\x8b\x08', at + 1, 'latin1');
  }
  return starts.map((start, k) => ({ start, end: starts[k + 1] ?? bytes.length }));
}

function beginsRecord(bytes: Buffer): boolean {
  try {
    const text = gunzipSync(bytes.subarray(0, 400), { finishFlush: 2 });
    return text.toString('latin1', 0, 8) === 'WARC/1.1';
  } catch {
    return false;
  }
}

export interface Frame {
  readonly start: number;
  readonly end: number;
  /** Frame_Content_Size. */
  readonly contentBytes: number;
  /** Window_Size: the memory that a reader needs. */
  readonly windowBytes: number;
}

const magic = 0xfd2fb528;
const magicBytes = 4;
const checksumBytes = 4;
/** Block types. A block of one repeated byte contains only that byte. */
const repeated = 1;
const reserved = 3;

/**
 * Parses adjacent frames from the first byte to the last; fails if there is anything between them.
 */
export function framesIn(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let start = 0; start < bytes.length; start = frames.at(-1)!.end) {
    frames.push(frameAt(bytes, start));
  }
  return frames;
}

/** @throws if the frame is cut short, has no content size, has no checksum, or uses a dictionary */
export function frameAt(bytes: Buffer, start: number): Frame {
  assert.equal(bytes.readUInt32LE(start), magic, `no frame begins at ${start}`);
  let at = start + magicBytes;
  const descriptor = bytes.readUInt8(at++);
  const isSingleSegment = (descriptor & 0b10_0000) !== 0;
  assert.equal(descriptor & 0b1000, 0, `frame at ${start}: reserved bit`);
  assert.notEqual(descriptor & 0b100, 0, `frame at ${start}: checksum`);
  assert.equal(descriptor & 0b11, 0, `frame at ${start}: no dictionary`);
  const window = isSingleSegment ? 0 : bytes.readUInt8(at++);
  const sizeFlag = descriptor >> 6;
  assert.ok(sizeFlag > 0 || isSingleSegment, `frame at ${start}: content size`);
  const sizeBytes = 1 << sizeFlag;
  const told =
    sizeBytes === 8 ? Number(bytes.readBigUInt64LE(at)) : bytes.readUIntLE(at, sizeBytes);
  // A two-byte size is stored minus 256 (RFC 8878, 3.1.1.1.4).
  const contentBytes = sizeBytes === 2 ? told + 256 : told;
  at += sizeBytes;
  for (let isLast = false; !isLast; ) {
    const header = bytes.readUIntLE(at, 3);
    const type = (header >> 1) & 0b11;
    assert.notEqual(type, reserved, `frame at ${start}: block at ${at}`);
    isLast = (header & 1) === 1;
    at += 3 + (type === repeated ? 1 : header >> 3);
  }
  const end = at + checksumBytes;
  assert.ok(end <= bytes.length, `frame at ${start}: cut short`);
  const base = 2 ** (10 + (window >> 3));
  const windowBytes = isSingleSegment ? contentBytes : base + (base / 8) * (window & 0b111);
  return { start, end, contentBytes, windowBytes };
}
