// A frame of `top` without a cluster, for the tests of what is drawn.

import { ProgressMeter } from '../../../../agent/cli/status/crawl-progress.ts';
import { RateHistory } from '../../../../agent/cli/top/rate-history.ts';
import type { TopFrame } from '../../../../agent/cli/top/top-frame.ts';
import type { AgentStatus } from '../../../../agent/monitor/agent-status.ts';

/** A minute of a rate that rises from 0 to that of each agent. */
export function frameOf(agents: readonly AgentStatus[], more: Partial<TopFrame> = {}): TopFrame {
  const history = new RateHistory();
  const all = agents.reduce((sum, { pagesPerSecond }) => sum + pagesPerSecond, 0);
  for (let second = 0; second <= 60; second++) {
    const rates = agents.map(({ id, pagesPerSecond: n }) => [id, (n * second) / 60] as const);
    history.add(second * 1000, new Map([...rates, ['', (all * second) / 60]]));
  }
  const unreachable = more.cluster?.unreachable ?? [];
  const reported = [
    ...agents.map((status) => ({ alive: true, status })),
    ...unreachable.map(() => ({ alive: false, status: null })),
  ];
  return {
    crawl: 'example',
    cluster: { agents, unreachable },
    progress: new ProgressMeter(true).at(0, reported),
    ...{ problems: [], failures: [] },
    rates: (id, columns) => history.of(id, 60_000, columns),
    ownerOf: () => 'a2',
    ...more,
  };
}
