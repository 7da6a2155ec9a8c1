// Which agents do not answer because they have left, as those that answer know it.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { askStatus } from './ask-status.ts';

interface Heard {
  readonly agents: readonly Pick<AgentStatus, 'gone' | 'members'>[];
  readonly unreachable: readonly string[];
}

/** Agents that are silent and nobody's member, and about which the last that was recorded is `leave`. */
export function leftOf({ agents, unreachable }: Heard): string[] {
  const members = new Set(agents.flatMap((one) => one.members.map(({ id }) => id)));
  const last = new Map<string, NonNullable<AgentStatus['gone']>[number]>();
  for (const one of agents.flatMap(({ gone = [] }) => gone)) {
    if (one.ageMs < (last.get(one.id)?.ageMs ?? Infinity)) last.set(one.id, one);
  }
  return unreachable.filter((id) => !members.has(id) && last.get(id)?.kind === 'leave');
}

/** The agents that do not answer, without those that have left: these need no attention. */
export function withoutLeft(heard: Heard): {
  readonly unreachable: readonly string[];
  readonly left?: readonly string[];
} {
  const left = leftOf(heard);
  const unreachable = heard.unreachable.filter((id) => !left.includes(id));
  return { unreachable, ...(left.length > 0 && { left }) };
}

/** Asks the cluster which of these agents have left; empty if nobody answers. */
export async function askLeft(
  config: ResolvedConfig,
  silent: readonly string[],
): Promise<string[]> {
  if (silent.length === 0) return [];
  const answer = await askStatus(config);
  if (!answer.ok) return [];
  const { agents } = answer.result as Heard;
  return leftOf({ agents, unreachable: silent });
}
