// The memory of the pools: URLs are claimed and then finished, as by a network, and Redis tells its
// memory.

import { hash } from 'node:crypto';
import { digestOf } from '../agent/networks/digests.ts';
import { openPools } from '../agent/networks/redis/open-pools.ts';
import type { NetworksGiven } from './networks-part.ts';
import type { PartResult } from './parts.ts';
import { RedisServer } from './redis-server.ts';

/** Digests of a frame, as many as a config allows. */
const frameMax = 10_000;
const million = 1_000_000;
const sha256 = (text: string) => hash('sha256', text, 'base64url');

export async function memory({ digests }: NetworksGiven): Promise<PartResult> {
  const server = await RedisServer.start();
  const options = { crawl: 'bench', network: 'n1', url: server.url, timeoutMs: 60_000 };
  const { pools, ready } = await openPools({ ...options, environment: {} });
  try {
    await ready;
    const empty = await server.use();
    for (const part of framesOf(digests)) await pools.hold(part);
    const claimed = await server.use();
    for (const part of framesOf(digests)) await pools.finish(part);
    const finished = await server.use();
    const figures = {
      digests,
      claimedBytes: (claimed.memoryBytes - empty.memoryBytes) / digests,
      finishedBytes: (finished.memoryBytes - empty.memoryBytes) / digests,
    };
    const rows = [
      ['claimed', figures.claimedBytes],
      ['finished', figures.finishedBytes],
    ] as const;
    const table = {
      title: `Memory of Redis with ${digests} URLs:`,
      columns: ['', 'bytes/URL', 'MB per million'],
      rows: rows.map(([name, bytes]) => [
        name,
        bytes.toFixed(1),
        ((bytes * million) / 1e6).toFixed(0),
      ]),
    };
    return { tables: [table], remarks: [], figures };
  } finally {
    pools.close();
    await server.stop();
  }
}

function* framesOf(count: number): Generator<string[]> {
  for (let first = 0; first < count; first += frameMax) {
    const length = Math.min(frameMax, count - first);
    yield Array.from({ length }, (_, k) => digestOf(`${first + k}`, sha256));
  }
}
