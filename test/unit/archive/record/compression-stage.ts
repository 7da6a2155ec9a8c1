// The set-up shared by `compression.test.ts` and `slow/compression.test.ts`.

import { gzipSync } from 'node:zlib';

export const GZIP = { format: 'gzip', level: 1 } as const;
export const WORDS = Buffer.from(
  Array.from({ length: 1_000_000 }, (_, n) => (n * 2654435761) % 2 ** 32).join(' '),
);
export const PACKED = gzipSync(WORDS, { level: 9 });
