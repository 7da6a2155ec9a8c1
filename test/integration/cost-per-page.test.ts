// Limits the cost of a page: statements, transactions, messages, bytes and allocations. These
// counts hardly depend on the speed or load of the machine, so they show a costly change more
// reliably than times do; bench/ measures times.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crawlOnce } from '../../bench/cluster-run.ts';
import { type CrawlFigures, costPerPage, type PageCost } from '../../bench/crawl-figures.ts';

/** About 500 pages of 8 KB with 24 links, of which a sixth lead to other hosts. */
const size = { hosts: 20, pages: 30 };
const crawl = { delayMs: 0, threads: 16, durability: 'power', follow: 'counts' } as const;

/**
 * Upper bounds of the costs. Statements hardly vary: the test detects one more per page with one
 * agent, and three or four more with two agents, where the number of pages per transaction varies.
 * The bounds of bytes are a third above the measured values, those of allocations, which vary by less
 * than a per cent, 3 and 11 per cent. The bounds of transactions and messages are about twice the
 * values measured at loads of 1 to 5, because their number depends on how many pages share one.
 */
type Bounds = Partial<Record<keyof PageCost, number>>;

/**
 * What heartbeats, measures and turns without pages allocate in a second, of each agent. On a busy
 * machine a crawl takes longer, so without it a page would seem to cost more.
 */
const timerBytes = 450_000;

function costOf(figures: CrawlFigures, agents: number): PageCost {
  const cost = costPerPage(figures);
  const ofTimers = (agents * timerBytes * figures.seconds) / figures.pages;
  return { ...cost, allocatedBytes: cost.allocatedBytes - ofTimers };
}

function assertWithin(cost: PageCost, bounds: Bounds): void {
  const beyond = Object.entries(bounds).filter(([name, most]) => {
    const value = cost[name as keyof PageCost];
    return !(value <= most);
  });
  assert.deepEqual(beyond, [], `above the bounds, of ${JSON.stringify(cost)}`);
}

describe('cost per page', () => {
  it('cost: a page stays within the bounds with one agent, without copies and archive', async () => {
    const figures = await crawlOnce(size, { ...crawl, agents: 1, backups: 0, warc: false });
    assertWithin(costOf(figures, 1), {
      ...{ statements: 12.5, transactions: 0.6, connections: 0.1, messages: 0, bytes: 0 },
      ...{ writtenBytes: 20_000, allocatedBytes: 180_000 },
    });
  });

  it('cost: a page stays within the bounds with two agents, a copy and an archive', async () => {
    const figures = await crawlOnce(size, { ...crawl, agents: 2, backups: 1, warc: true });
    assertWithin(costOf(figures, 2), {
      ...{ statements: 35, transactions: 2.2, connections: 0.1, messages: 1.6, bytes: 800 },
      ...{ writtenBytes: 72_000, allocatedBytes: 270_000 },
    });
  });
});
