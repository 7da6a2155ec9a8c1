// Asks the cluster for the status of its agents: one of them knows all members, or each is asked for
// the ones that it knows.

import type { DirectiveInForce } from '../../core/protocol/directives.ts';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { askFirst, type ClusterAnswer } from '../common/ask.ts';
import { asked, type ResolvedConfig } from '../common/load-config.ts';
import { type Walked, walk } from '../common/walk.ts';
import { directivesIn, isStatusOf, statusesIn } from './status-check.ts';

/**
 * @param whom - the agents that may be asked
 * @returns the status of all agents, without what has a wrong shape; such agents are named
 */
export async function askStatus(
  config: ResolvedConfig,
  whom = asked(config),
): Promise<ClusterAnswer> {
  if (config.cluster.overlay === 'ring') {
    const answer = await askFirst(whom, 'status', {
      isReadable: (result) => statusesIn(result) !== null,
      isMember: (result, by) => hasJoined(statusesIn(result)!.agents, by),
    });
    if (!answer.ok) return answer;
    const status = statusesIn(answer.result)!;
    const orders = confirmed(status.orders, status.agents, answer.by);
    return { ...answer, result: { ...status, orders } };
  }
  const walked = await walk(whom, { verb: 'status', args: [], isReadable: isStatusOf });
  if (walked.results.size === 0) return { ok: false, failures: walked.failures };
  return { ok: true, by: '', result: walkedStatus(walked) };
}

/** Whether the agent that has answered is a member, and knows the others. */
export function hasJoined(agents: readonly AgentStatus[], by: string): boolean {
  return agents.some(({ id, joined }) => id === by && joined);
}

/** The status of the agents that a walk has reached. */
export function walkedStatus({
  results,
  unreachable,
  begins,
  groups,
  unreadable,
}: Pick<Walked, 'results' | 'unreachable' | 'begins' | 'groups' | 'unreadable'>) {
  const agents = [...results.values()] as AgentStatus[];
  const [{ me, orders } = { me: null }] = begins;
  const known = confirmed(directivesIn(orders), agents, me?.id);
  const joined = new Set(agents.flatMap((one) => (one.joined ? [one.id] : [])));
  const clusters = groups.filter((group) => group.some((id) => joined.has(id)));
  return { agents, unreachable, unreadable, groups: clusters, orders: known };
}

/**
 * The directives with the agents that have them. The agent that answered learns that from later
 * heartbeats, or only of its neighbours; agents with its digest have all of them now.
 */
export function confirmed(
  directives: readonly DirectiveInForce[],
  agents: readonly AgentStatus[],
  by: string | undefined,
): DirectiveInForce[] {
  const digest = agents.find(({ id }) => id === by)?.directives;
  const same = agents.filter((one) => one.directives === digest).map(({ id }) => id);
  return directives.map((one) => ({ ...one, applied: [...new Set([...one.applied, ...same])] }));
}
