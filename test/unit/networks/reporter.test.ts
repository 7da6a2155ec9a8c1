import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { digestOf } from '../../../agent/networks/digests.ts';
import type { Digest, Pools } from '../../../agent/networks/pools.ts';
import { Reporter } from '../../../agent/networks/reporter.ts';

const at = (ms: number) => ({ mono: ms, wall: ms });
const sha256 = (text: string) => createHash('sha256').update(text).digest();

test('a report that the store does not have is sent again if Redis does not answer', async () => {
  const released: Digest[] = [];
  let isDown = true;
  const pools = {
    filledBy: async () => null,
    doubted: async () => [],
    release: async (digests: readonly Digest[]) => {
      if (isDown) throw new Error('refused');
      released.push(...digests);
    },
  } as unknown as Pools;
  const reporter = new Reporter({
    settings: {
      ...{ network: 'a', networks: ['a', 'b'], seeds: 1, onTimeout: 'proceed', timeoutMs: 500 },
      ...{ batch: 2, leaseMs: 3000 },
    },
    ...{ agent: 'a-1', token: 'a-1.1', pools: new Map([['a', pools]]), sha256 },
    wake: () => {},
    onError: () => {},
    store: {
      unreported: () => [],
      reported: () => {},
      fill: () => ({ finished: [], queued: [], next: null }),
      isIdle: () => true,
    },
    isWanted: () => null,
  });
  const turn = async (ms: number) => {
    reporter.pump(at(ms));
    await immediately();
    reporter.pump(at(ms));
  };
  await turn(0);
  // The verdict of a URL that was given up, and reported, before it was claimed.
  reporter.report([{ identity: 'http://h.test/', kind: 'released' }], at(10));
  await turn(10);
  assert.equal(reporter.isQuiet, false);
  isDown = false;
  for (let ms = 1000; ms < 20_000; ms += 1000) await turn(ms);
  assert.deepEqual(released, [digestOf('http://h.test/', sha256)]);
  assert.equal(reporter.isQuiet, true);
});
