// How a record is packed: by itself, so that whoever knows its place needs no other byte of the
// file. As gzip a member (WARC 1.1, annex D); as zstd a frame, by the IIPC's proposal for
// `.warc.zst`, which asks that each frame tell the size of what is in it and end in a checksum.
// No dictionary, which the proposal leaves open: with one, a reader of any record needs the
// beginning of its file too. Called by warc-writer.ts; file-name.ts has the suffixes.

import { constants, gzipSync, zstdCompressSync } from 'node:zlib';

export type CompressionFormat = 'gzip' | 'zstd';

export interface Compression {
  readonly format: CompressionFormat;
  /**
   * As the format counts: of gzip 1 to 9, of zstd 1 to 19. Beyond 19 zstd's windows are larger than
   * the 8 MiB that every reader of `.warc.zst` must have room for.
   */
  readonly level: number;
}

/**
 * Room for a frame of what nothing can be saved of, and to spare: zstd's own bound is a 256th more
 * and 64 bytes. Where a frame just fills the buffer, Node asks for more, and zstd begins a second
 * frame, of nothing (https://github.com/denoland/deno/issues/36688).
 */
const roomFor = (bytes: number) => bytes + Math.ceil(bytes / 128) + 1024;

/** Records without a body are hardly ever larger. */
const SMALL_BYTES_MAX = 2048;
/** A window of that size, since what zlib's usual tables cost to clear is most of a small record. */
const SMALL = { windowBits: 11, memLevel: 4 };

/** Of larger records samples are packed first: to pack one of 20 MB in vain takes half a second. */
const SAMPLED_BYTES_MIN = 1024 * 1024;
const SAMPLE_BYTES = 16 * 1024;
const SAMPLES = 8;
/** Samples that keep more than this share of their bytes were packed before. */
const SHARE_KEPT_MAX = 0.97;
/** Of gzip: no compression. */
const STORED = 0;

/** Whether packing saves nothing worth its time, as of a body that came packed. */
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

const PACKERS: Readonly<Record<CompressionFormat, (record: Uint8Array, level: number) => Buffer>> =
  {
    gzip: (record, level) => {
      const tables = record.byteLength > SMALL_BYTES_MAX ? {} : SMALL;
      const chosen = isIncompressible(record, level) ? STORED : level;
      return gzipSync(record, { level: chosen, ...tables });
    },
    zstd: (record, level) => {
      const packed = zstdCompressSync(record, {
        // Told beforehand, it stands in the frame's head, and tables are no larger than it needs.
        pledgedSrcSize: record.byteLength,
        chunkSize: roomFor(record.byteLength),
        params: {
          [constants.ZSTD_c_compressionLevel]: level,
          [constants.ZSTD_c_contentSizeFlag]: 1,
          [constants.ZSTD_c_checksumFlag]: 1,
        },
      });
      // What waits for the next flush would hold all of the room.
      return Buffer.from(packed);
    },
  };

/** The record as one gzip member or one zstd frame. */
export function compressed(record: Uint8Array, { format, level }: Compression): Buffer {
  return PACKERS[format](record, level);
}
