// How a cluster of a storm is, by its agents' own word: whether all are there and see one another,
// and whether every copy has caught up, which is when the loss of a disk is survived as if it were
// the first. Asked over the agents' sockets, as `ubiring status` does.

import { setTimeout as pause } from 'node:timers/promises';
import { askAgent } from '../../agent/messaging/control-client.ts';
import type { AgentStatus } from '../../agent/monitor/agent-status.ts';
import type { Cluster } from './harness.ts';
import { steadyMs } from './harness-process.ts';

const answerMsMax = 4000;
const pollMs = 150;
/** A cluster that heals takes some time-outs, and a busy machine its time. */
const limitMs = 90_000;

/** What all agents that answer say of themselves; none where nobody does. */
export async function statusOf(cluster: Cluster): Promise<readonly AgentStatus[]> {
  for (const id of cluster.awake()) {
    const answer = await askAgent(cluster.addressOf(id), 'status', [], answerMsMax);
    if (answer.ok) return (answer.result as { agents: readonly AgentStatus[] }).agents;
  }
  return [];
}

/** Resolves when those named have joined and every one of them sees the others as joined. */
export async function present(cluster: Cluster, ids: readonly string[]): Promise<void> {
  await eventually(cluster, `${ids} are there`, (agents) => missing(agents, ids).length === 0);
}

/** One line an agent, for who has to find out what holds them up. */
export function describe(agents: readonly AgentStatus[]): string {
  return agents.map(({ recent, traffic, ...rest }) => JSON.stringify(rest)).join('\n');
}

/**
 * Resolves when all agents are present, obey no pause, and each has at some moment since the call had
 * no copy behind, no host to hand over and no URL on its way. Under a crawl that goes on, these are
 * never all true of all agents at one moment for long; what each had before its own moment is safe.
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

/** Of those named: who does not say that it has joined and sees all the others joined. */
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
