// Asking a cluster by way of any of its agents. All agents are equal, so whoever answers will do:
// a question is put to all at once and the first answer counts; an order is put to one after the
// other until one takes it, since each would pass it on to all. Used by `status` and `stop`.

import type { AgentEntry } from '../../config/config.ts';
import type { ControlVerb } from '../core/messages.ts';
import { askAgent } from '../messaging/control-client.ts';

/** Longer than an agent waits for the others (1.5 s), with room for one that is busy. */
const answerMsMax = 4000;

export type ClusterAnswer =
  | { readonly ok: true; readonly by: string; readonly result: unknown }
  | { readonly ok: false; readonly failures: readonly string[] };

/** Puts a question to all agents; the first answer wins. */
export async function askFirst(
  agents: readonly AgentEntry[],
  verb: ControlVerb,
): Promise<ClusterAnswer> {
  const failures: string[] = [];
  const asked = agents.map(async ({ id, address }) => {
    const answer = await askAgent(address, verb, [], answerMsMax);
    if (answer.ok) return { ok: true, by: id, result: answer.result } as const;
    failures.push(`${id}: ${answer.message}`);
    throw new Error(answer.message);
  });
  try {
    return await Promise.any(asked);
  } catch {
    return { ok: false, failures };
  }
}

/** Gives an order to the first agent that takes it. */
export async function askInTurn(
  agents: readonly AgentEntry[],
  verb: ControlVerb,
  args: readonly string[],
): Promise<ClusterAnswer> {
  const failures: string[] = [];
  for (const { id, address } of agents) {
    const answer = await askAgent(address, verb, args, answerMsMax);
    if (answer.ok) return { ok: true, by: id, result: answer.result };
    failures.push(`${id}: ${answer.message}`);
  }
  return { ok: false, failures };
}
