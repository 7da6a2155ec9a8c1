// What a page costs in counts: statements, transactions, messages, bytes, allocations. They hardly
// depend on how fast the machine is or what else it does, so that a change which makes pages dearer
// shows here, where a timed test would blame the machine. Times are the subject of bench/.
// The slower of these tests; the others are in `test/integration/cost-per-page.test.ts`.

import { describe, it } from 'node:test';
import { costPerPage, crawlOnce } from '../../../bench/cluster-run.ts';
import { assertWithin, crawl, size } from '../cost-per-page-stage.ts';

describe('cost per page', () => {
  it('cost: a page of two agents, with a copy and an archive', async () => {
    const figures = await crawlOnce(size, { ...crawl, agents: 2, backups: 1, warc: true });
    const cost = costPerPage(figures);
    assertWithin(cost, {
      ...{ statements: 35, transactions: 2.2, connections: 0.1, messages: 1.6, bytes: 800 },
      ...{ writtenBytes: 72_000, allocatedBytes: 270_000 },
    });
  });
});
