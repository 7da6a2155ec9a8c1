// The messages that each agent has sent, in the output of `status`: a column for each operation of
// Tao and Xiang (2016), because users of the overlay kademlia compare it with the paper. Agents of
// the ring have no such counts, and the table is omitted.

import { operations } from '../../messaging/traffic.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { count, renderTable } from '../common/output.ts';

/** A table of at most 80 columns; null if no agent counts operations. */
export function trafficText(agents: readonly Pick<AgentStatus, 'id' | 'traffic'>[]): string | null {
  if (!agents.some(({ traffic }) => operations.some((name) => traffic[name]))) return null;
  const columns = operations.map((title) => ({ title, align: 'right' as const }));
  const rows = agents.map(({ id, traffic }) => {
    return [id, ...operations.map((name) => count(traffic[name]?.messages ?? 0))];
  });
  return renderTable([{ title: 'agent' }, ...columns], rows);
}
