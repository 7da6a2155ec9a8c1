// Asking a cluster by way of any of its agents. All agents are equal, so whoever answers will do:
// a question is put to all at once and the first answer counts; an order is put to one after the
// other until one takes it, since each would pass it on to all. Used by `status` and `stop`.

import path from 'node:path';
import type { AgentEntry } from '../../../config/config.ts';
import type { ControlVerb } from '../../core/protocol/messages.ts';
import { askAgent } from '../../messaging/control-client.ts';
import { isUnused } from './running.ts';

/** Longer than an agent waits for the others (1.5 s), with room for one that is busy. */
const answerMsMax = 4000;

export type ClusterAnswer =
  | { readonly ok: true; readonly by: string; readonly result: unknown }
  | { readonly ok: false; readonly failures: readonly string[] };

/** Whom to ask. */
export interface Asked {
  readonly agents: readonly AgentEntry[];
  /** Of the crawl that is meant. */
  readonly dataDir: string;
}

/** Puts a question to all agents; the first answer wins. */
export async function askFirst(whom: Asked, verb: ControlVerb): Promise<ClusterAnswer> {
  const { agents, failures } = usersOf(whom);
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
  whom: Asked,
  verb: ControlVerb,
  args: readonly string[],
): Promise<ClusterAnswer> {
  const { agents, failures } = usersOf(whom);
  for (const { id, address } of agents) {
    const answer = await askAgent(address, verb, args, answerMsMax);
    if (answer.ok) return { ok: true, by: id, result: answer.result };
    failures.push(`${id}: ${answer.message}`);
  }
  return { ok: false, failures };
}

/**
 * Without the agents whose directories are here and unused: what listens at their endpoints belongs
 * to another data directory, such as the one that this is a copy of.
 */
function usersOf({ agents, dataDir }: Asked) {
  const unused = agents.filter(({ id }) => isUnused(path.join(dataDir, id)));
  return {
    agents: agents.filter((agent) => !unused.includes(agent)),
    failures: unused.map(({ id }) => `${id}: no agent runs in ${path.join(dataDir, id)}`),
  };
}
