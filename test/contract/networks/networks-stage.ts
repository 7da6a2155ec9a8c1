// Frames, digests and pools for the tests of networks.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Entry, Frame, VerdictFrame } from '../../../agent/networks/pools.ts';
import { NetworkFailure } from '../../../agent/networks/redis/network-failure.ts';
import { openPools } from '../../../agent/networks/redis/open-pools.ts';
import type { RedisPools } from '../../../agent/networks/redis/redis-pools.ts';

export function digest(name: string | number): string {
  return createHash('sha256').update(String(name)).digest().subarray(0, 16).toString('base64url');
}

export function digests(count: number, name = 'd'): string[] {
  return Array.from({ length: count }, (_, k) => digest(`${name}${k}`));
}

export function frameOf(
  number: string,
  list: readonly string[],
  parts: Partial<Frame> = {},
): Frame {
  return {
    number,
    flag: 1,
    network: 'berlin',
    origin: 'a1',
    relay: 'berlin',
    sender: 'a1',
    digests: list,
    ...parts,
  };
}

/** The frame as an entry that is not in the stream. */
export function entryOf(...given: Parameters<typeof frameOf>): Entry {
  return { id: '1-1', frame: frameOf(...given) };
}

export function verdictOf(number: string, count: number, isPartial = false): VerdictFrame {
  return {
    number,
    owners: Array.from({ length: count }, () => ''),
    finals: '0'.repeat(count),
    isPartial,
  };
}

export interface PoolsChoice {
  readonly url: string;
  readonly network?: string;
  readonly crawl?: string;
  readonly settings?: string;
  readonly home?: string;
  readonly timeoutMs?: number;
  readonly recheckMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Connected pools, closed at the end of the test file. */
export async function connected(choice: PoolsChoice): Promise<RedisPools> {
  const { pools, ready } = await opened(choice);
  await ready;
  return pools;
}

/** `newPools`: filled ones of a new crawl. `crawl`: the name of the last one. */
export function crawlsAt(url: string) {
  let count = 0;
  const crawl = () => `crawl ${count}`;
  const newPools = async () => {
    count++;
    const pools = await connected({ url, crawl: crawl() });
    await pools.setFilled();
    return pools;
  };
  return { crawl, newPools };
}

export async function opened({ network = 'berlin', crawl = 'c', ...rest }: PoolsChoice) {
  const { timeoutMs = 10_000, environment = {} } = rest;
  const one = await openPools({ ...rest, crawl, network, timeoutMs, environment });
  after(() => one.pools.close());
  return one;
}

/** Between looks at a state that comes by itself; the test's own limit ends the wait. */
export const lookMs = 5;

export async function reconnected(pools: RedisPools): Promise<void> {
  while (pools.link.failure !== null) await pause(lookMs);
}

export async function disconnected(pools: RedisPools): Promise<void> {
  while (pools.link.failure === null) await pause(lookMs);
}

export async function failureOf(work: Promise<unknown>): Promise<NetworkFailure> {
  const failure = await work.then(
    () => null,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof NetworkFailure, String(failure));
  return failure;
}
