// What a page costs in counts: statements, transactions, messages, bytes, allocations. They hardly
// depend on how fast the machine is or what else it does, so that a change which makes pages dearer
// shows here, where a timed test would blame the machine. Times are the subject of bench/.

import { describe, it } from 'node:test';
import { costPerPage, crawlOnce } from '../../bench/cluster-run.ts';
import { assertWithin, crawl, size } from './cost-per-page-stage.ts';

describe('cost per page', () => {
  it('cost: a page of one agent, without copies and archive', async () => {
    const figures = await crawlOnce(size, { ...crawl, agents: 1, backups: 0, warc: false });
    const cost = costPerPage(figures);
    assertWithin(cost, {
      ...{ statements: 12.5, transactions: 0.6, connections: 0.1, messages: 0, bytes: 0 },
      ...{ writtenBytes: 20_000, allocatedBytes: 180_000 },
    });
  });
});
