// What a page costs in counts: statements, transactions, messages, bytes, allocations. They hardly
// depend on how fast the machine is or what else it does, so that a change which makes pages dearer
// shows here, where a timed test would blame the machine. Times are the subject of bench/.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { costPerPage, crawlOnce, type PageCost } from '../../../bench/cluster-run.ts';

/** Some 500 pages of 8 KB with 24 links, a sixth of them to other hosts. */
const size = { hosts: 20, pages: 30 };
const crawl = { delayMs: 0, threads: 16, durability: 'power', follow: 'counts' } as const;

/**
 * The most that each may be. Statements hardly vary, so one more a page shows with one agent, and
 * three or four with two, whose pages need more where fewer share a transaction. Bytes and
 * allocations have a third of room; transactions and messages about twice what was measured at
 * loads of 1 to 5, since their number depends on how many pages share one.
 */
type Bounds = Partial<Record<keyof PageCost, number>>;

function assertWithin(cost: PageCost, bounds: Bounds): void {
  const beyond = Object.entries(bounds).filter(([name, most]) => {
    const value = cost[name as keyof PageCost];
    return !(value <= most);
  });
  assert.deepEqual(beyond, [], `dearer than allowed, of ${JSON.stringify(cost)}`);
}

describe('cost per page', () => {
  it('cost: a page of one agent, without copies and archive', async () => {
    const figures = await crawlOnce(size, { ...crawl, agents: 1, backups: 0, warc: false });
    const cost = costPerPage(figures);
    assertWithin(cost, {
      ...{ statements: 12.5, transactions: 0.6, connections: 0.1, messages: 0, bytes: 0 },
      ...{ writtenBytes: 20_000, allocatedBytes: 180_000 },
    });
  });

  it('cost: a page of two agents, with a copy and an archive', async () => {
    const figures = await crawlOnce(size, { ...crawl, agents: 2, backups: 1, warc: true });
    const cost = costPerPage(figures);
    assertWithin(cost, {
      ...{ statements: 35, transactions: 2.2, connections: 0.1, messages: 1.6, bytes: 800 },
      ...{ writtenBytes: 72_000, allocatedBytes: 270_000 },
    });
  });
});
