// Whether fewer agents run than the configured copies need. The hosts then count as completely copied,
// because no agent lacks a copy that it should have.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import type { ResolvedConfig } from '../common/load-config.ts';

type Running = Pick<AgentStatus, 'joined' | 'members'>;

/** @returns how many copies each host has and should have; null: enough agents run */
export function fewCopiesText(
  agents: readonly Running[],
  { cluster }: Pick<ResolvedConfig, 'cluster'>,
): string | null {
  // At a start the agents have not met yet. A launch hears only the agents of its machine.
  const joined = agents.filter((agent) => agent.joined);
  const running = Math.max(joined.length, ...joined.map(({ members }) => 1 + members.length));
  const wanted = Math.min(cluster.backups, Math.max(running, cluster.agents.length) - 1);
  if (joined.length === 0 || running > wanted) return null;
  return `each host has ${running - 1} of ${wanted} copies: too few agents run`;
}
