// The statuses that the agents of the process group report to its HTTP server every second. While
// they describe the whole cluster, the server need not ask an agent.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import { monotonicMs } from '../../runtime/clock.ts';

/** An agent whose status has not changed for longer may hang. */
const REPORT_MS_MAX = 2500;

interface Report {
  readonly status: AgentStatus;
  /** When it came first, in monotonic milliseconds: an agent that hangs repeats its last status. */
  readonly at: number;
}

export class ReportedStatuses {
  #reports: ReadonlyMap<string, Report> = new Map();

  /** @param statuses - of all agents that report */
  note(statuses: readonly AgentStatus[]): void {
    const at = monotonicMs();
    this.#reports = new Map(
      statuses.map((status) => {
        const last = this.#reports.get(status.id);
        const isRepeated = last?.status.uptimeMs === status.uptimeMs;
        return [status.id, { status, at: isRepeated ? last.at : at }];
      }),
    );
  }

  /** All agents of the cluster; null: another agent may be a member, or one of them may hang. */
  whole(): readonly AgentStatus[] | null {
    const reports = [...this.#reports.values()];
    const now = monotonicMs();
    const isWhole = reports.every(({ status: { members }, at }) => {
      return now - at < REPORT_MS_MAX && members.every(({ id }) => this.#reports.has(id));
    });
    // Before it joins, an agent knows nobody.
    const isJoined = reports.some(({ status }) => status.joined);
    return isWhole && isJoined ? reports.map(({ status }) => status) : null;
  }
}
