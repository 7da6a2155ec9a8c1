// The health of a storm's cluster, as its agents report it: whether all are present and see each
// other, and whether every copy has caught up. After that the loss of a disk is survived like the
// first one. It uses the agents' sockets, like `ubiring status`.

import { setTimeout as pause } from 'node:timers/promises';
import { askAgent } from '../../agent/messaging/control-client.ts';
import type { AgentStatus } from '../../agent/monitor/agent-status.ts';
import type { Cluster } from './harness.ts';
import { steadyMs } from './harness-process.ts';

const answerMsMax = 4000;
const pollMs = 150;
/** A cluster heals within some timeouts, plus the delays of a busy machine. */
const limitMs = 90_000;

/** The status of all agents that answer; empty if none does. */
export async function statusOf(cluster: Cluster): Promise<readonly AgentStatus[]> {
  for (const id of cluster.awake()) {
    const answer = await askAgent(cluster.addressOf(id), 'status', [], answerMsMax);
    if (answer.ok) return (answer.result as { agents: readonly AgentStatus[] }).agents;
  }
  return [];
}

/** Resolves when the given agents have joined and each sees the others as joined. */
export async function present(cluster: Cluster, ids: readonly string[]): Promise<void> {
  await eventually(cluster, `${ids} are present`, (agents) => missing(agents, ids).length === 0);
}

/** One line for each agent, to find out what delays them. */
export function describe(agents: readonly AgentStatus[]): string {
  return agents.map(({ recent, traffic, ...rest }) => JSON.stringify(rest)).join('\n');
}

/**
 * Resolves when all agents are present and not paused, and each had, at some moment since the call,
 * no copy lag, no host to hand over and no URL on its way. While the crawl runs, this is never true
 * of all agents at once for long. But what each had before its own moment is safe.
 */
export async function caughtUp(cluster: Cluster): Promise<void> {
  const even = new Set<string>();
  await eventually(cluster, 'all copies have caught up', (agents) => {
    if (missing(agents, cluster.ids).length > 0 || agents.some(({ paused }) => paused)) {
      even.clear();
      return false;
    }
    for (const agent of agents) if (isEven(agent)) even.add(agent.id);
    return cluster.ids.every((id) => even.has(id));
  });
}

function isEven({ copyLag, handOff, outbox, unanswered }: AgentStatus): boolean {
  const { given, owed, awaited } = handOff;
  return copyLag + given + owed + awaited + outbox + unanswered === 0;
}

/** The given agents that do not report that they have joined and see all others joined. */
function missing(agents: readonly AgentStatus[], ids: readonly string[]): string[] {
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  return ids.filter((id) => {
    const agent = byId.get(id);
    if (agent === undefined || !agent.joined) return true;
    const seen = new Set(agent.members.filter((m) => m.joined && !m.leaving).map((m) => m.id));
    return ids.some((other) => other !== id && !seen.has(other));
  });
}

async function eventually(
  cluster: Cluster,
  what: string,
  is: (agents: readonly AgentStatus[]) => boolean,
): Promise<void> {
  const end = steadyMs() + limitMs;
  for (;;) {
    const agents = await statusOf(cluster);
    if (is(agents)) return;
    if (steadyMs() > end) {
      const said = `${describe(agents)}; ${cluster.said()}`;
      throw new Error(`not within ${limitMs} ms: ${what}; ${said}`);
    }
    await pause(pollMs);
  }
}
