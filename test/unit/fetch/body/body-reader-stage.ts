// The set-up shared by `body-reader.test.ts` and `slow/body-reader.test.ts`.

import assert from 'node:assert/strict';
import zlib from 'node:zlib';
import { type BodyEnd, BodyReader } from '../../../../agent/fetch/body/body-reader.ts';

/** Pushes the pieces, waiting while the reader pauses the source, until the body ends. */
export async function read(coding: string, bytesMax: number, pieces: readonly Uint8Array[]) {
  let resume = () => {};
  let paused = false;
  const source = {
    pause: () => {
      paused = true;
    },
    resume: () => {
      paused = false;
      resume();
    },
  };
  const ends: BodyEnd[] = [];
  const ended = Promise.withResolvers<void>();
  const reader = new BodyReader(coding, bytesMax, source, (end) => {
    ends.push(end);
    ended.resolve();
  });
  for (const piece of pieces) {
    reader.push(piece);
    if (paused && ends.length === 0) {
      const resumed = new Promise<void>((resolve) => {
        resume = resolve;
      });
      await Promise.race([resumed, ended.promise]);
    }
  }
  reader.finish();
  await ended.promise;
  await new Promise(setImmediate);
  assert.equal(ends.length, 1, 'ends once');
  return { end: ends[0]!, body: Buffer.from(await reader.take()), received: reader.received };
}

/** Compresses at level 5, because the default level takes a hundred times as long. */
export function quickBrotli(body: Buffer): Buffer {
  return zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } });
}

export const ENCODERS: Record<string, (body: Buffer) => Buffer> = {
  '': (body) => body,
  gzip: (body) => zlib.gzipSync(body),
  deflate: (body) => zlib.deflateSync(body),
  br: quickBrotli,
  zstd: (body) => zlib.zstdCompressSync(body),
  'br, gzip': (body) => zlib.gzipSync(quickBrotli(body)),
};

export function cutInto(coded: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(coded.length / size) }, (_, index) =>
    coded.subarray(index * size, (index + 1) * size),
  );
}

/** Compresses at a ratio that the reader accepts as plausible. */
export const NUMBERS = Buffer.from(
  Array.from({ length: 400_000 }, (_, n) => (n * 2654435761) % 2 ** 32).join(' '),
);
