// What the tests in `cost-per-page.test.ts` and in `slow/cost-per-page.test.ts` are run on.

import assert from 'node:assert/strict';
import type { PageCost } from '../../bench/cluster-run.ts';

/** Some 500 pages of 8 KB with 24 links, a sixth of them to other hosts. */
export const size = { hosts: 20, pages: 30 };
export const crawl = { delayMs: 0, threads: 16, durability: 'power', follow: 'counts' } as const;

/**
 * The most that each may be. Statements hardly vary, so one more a page shows with one agent, and
 * three or four with two, whose pages need more where fewer share a transaction. Bytes and
 * allocations have a third of room; transactions and messages about twice what was measured at
 * loads of 1 to 5, since their number depends on how many pages share one.
 */
export type Bounds = Partial<Record<keyof PageCost, number>>;

export function assertWithin(cost: PageCost, bounds: Bounds): void {
  const beyond = Object.entries(bounds).filter(([name, most]) => {
    const value = cost[name as keyof PageCost];
    return !(value <= most);
  });
  assert.deepEqual(beyond, [], `dearer than allowed, of ${JSON.stringify(cost)}`);
}
