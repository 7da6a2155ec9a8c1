// What a page costs in counts: statements, transactions, messages, bytes, allocations. They hardly
// depend on how fast the machine is or what else it does, so that a change which makes pages dearer
// shows here, where a timed test would blame the machine. Times are the subject of bench/.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { costPerPage, crawlOnce, type PageCost } from '../../bench/cluster-run.ts';

/** Some 500 pages of 8 KB with 24 links, a sixth of them to other hosts. */
const size = { hosts: 20, pages: 30 };
const crawl = { delayMs: 0, threads: 16, durability: 'power', follow: 'counts' } as const;

/**
 * The most that each may be, with a third to a half of room over what was measured, at loads of 7
 * to 30. Transactions have more, since their number depends on how many pages share one, and so
 * have messages, for the same reason.
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
      ...{ statements: 16, transactions: 2.5, connections: 0.1, messages: 0, bytes: 0 },
      ...{ writtenBytes: 45_000, allocatedBytes: 260_000 },
    });
  });

  it('cost: a page of two agents, with a copy and an archive', async () => {
    const figures = await crawlOnce(size, { ...crawl, agents: 2, backups: 1, warc: true });
    const cost = costPerPage(figures);
    assertWithin(cost, {
      ...{ statements: 42, transactions: 6, connections: 0.1, messages: 2.5, bytes: 1_200 },
      ...{ writtenBytes: 110_000, allocatedBytes: 400_000 },
    });
  });
});
