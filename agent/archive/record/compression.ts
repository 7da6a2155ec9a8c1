// Compresses each record by itself, so that a reader that knows its place needs no other byte of
// the file. With gzip, a record is a member (WARC 1.1, annex D). With zstd, it is a frame that
// states the size of its content and ends in a checksum (IIPC's proposal for `.warc.zst`). There is
// no dictionary, because a reader would need the beginning of the file for it.

import { constants, gzipSync, zstdCompressSync } from 'node:zlib';

export type CompressionFormat = 'gzip' | 'zstd';

export interface Compression {
  readonly format: CompressionFormat;
  /**
   * 1 to 9 for gzip, 1 to 19 for zstd. Above 19, the windows of zstd exceed the 8 MiB that every
   * reader of `.warc.zst` must support.
   */
  readonly level: number;
}

/**
 * Output buffer that is larger than any frame: the bound of zstd is a 256th more, and 64 bytes. If
 * a frame exactly fills the buffer, Node asks for more output, and zstd begins a second, empty
 * frame (https://github.com/denoland/deno/issues/36688).
 */
const roomFor = (bytes: number) => bytes + Math.ceil(bytes / 128) + 1024;

/** Records without a body are rarely larger. */
const SMALL_BYTES_MAX = 2048;
/**
 * A window of that size, and a small output buffer: clearing the default tables and allocating the
 * default buffer takes most of the time of a small record.
 */
const SMALL = { windowBits: 11, memLevel: 4, chunkSize: 1024 };

/** Larger records are sampled first: compressing 20 MB in vain takes half a second. */
const SAMPLED_BYTES_MIN = 1024 * 1024;
const SAMPLE_BYTES = 16 * 1024;
const SAMPLES = 8;
/** Samples that keep more than this share of their bytes are already compressed. */
const SHARE_KEPT_MAX = 0.97;
/** The gzip level without compression. */
const STORED = 0;

/** Whether compression would save too little for its time, as for a body that is compressed. */
function isIncompressible(record: Uint8Array, level: number): boolean {
  if (record.byteLength < SAMPLED_BYTES_MIN) return false;
  const samples = Array.from({ length: SAMPLES }, (_, k) => {
    const at = Math.floor(((k + 1) * record.byteLength) / (SAMPLES + 1));
    return record.subarray(at, at + SAMPLE_BYTES);
  });
  return samples.every(
    (sample) => gzipSync(sample, { level }).byteLength > sample.byteLength * SHARE_KEPT_MAX,
  );
}

/** The record as one gzip member or one zstd frame. */
export function compressed(record: Uint8Array, { format, level }: Compression): Buffer {
  return format === 'gzip' ? gzipped(record, level) : zstdCompressed(record, level);
}

function gzipped(record: Uint8Array, level: number): Buffer {
  const tables = record.byteLength > SMALL_BYTES_MAX ? {} : SMALL;
  const chosen = isIncompressible(record, level) ? STORED : level;
  return gzipSync(record, { level: chosen, ...tables });
}

function zstdCompressed(record: Uint8Array, level: number): Buffer {
  const frame = zstdCompressSync(record, {
    // A size known in advance is in the header of the frame, and limits the tables.
    pledgedSrcSize: record.byteLength,
    chunkSize: roomFor(record.byteLength),
    params: {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_contentSizeFlag]: 1,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  });
  // A copy, because until the next flush the frame would keep the whole output buffer.
  return Buffer.from(frame);
}
