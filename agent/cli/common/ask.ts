// Asking a cluster by way of any of its agents. All agents are equal, so whoever answers will do:
// a question is put to all at once and the first answer counts; an order is put to one after the
// other until one takes it, since each would pass it on to all. Used by `status` and `stop`.

import path from 'node:path';
import type { AgentEntry } from '../../../config/config.ts';
import type { ControlVerb } from '../../core/protocol/messages.ts';
import { askAgent } from '../../messaging/control-client.ts';
import { Refusal } from './exit-code.ts';
import { isUnused } from './running.ts';

/** Longer than an agent waits for the others (1.5 s), with room for one that is busy. */
const answerMsMax = 4000;

export type ClusterAnswer =
  | { readonly ok: true; readonly by: string; readonly result: unknown }
  | { readonly ok: false; readonly failures: readonly string[] };

/** Whom to ask. */
export interface Asked {
  readonly agents: readonly AgentEntry[];
  /** The name of the crawl that is meant. */
  readonly crawl: string;
  /** Of the crawl that is meant. */
  readonly dataDir: string;
}

/**
 * Puts a question to all agents; the first answer wins.
 *
 * @throws Refusal where none answers, and one is of another crawl
 */
export async function askFirst(whom: Asked, verb: ControlVerb): Promise<ClusterAnswer> {
  const { agents, failures } = usersOf(whom);
  const others: string[] = [];
  const asked = agents.map(async ({ id, address }) => {
    const answer = await askAgent(address, verb, [], answerMsMax, whom.crawl);
    if (answer.ok) return { ok: true, by: id, result: answer.result } as const;
    failures.push(`${id}: ${answer.message}`);
    if (answer.otherCrawl !== undefined)
      others.push(refusedText(whom, id, address, answer.otherCrawl));
    throw new Error(answer.message);
  });
  try {
    return await Promise.any(asked);
  } catch {
    if (others.length > 0) throw new Refusal(4, others[0]!);
    return { ok: false, failures };
  }
}

/**
 * Gives an order to the first agent that takes it.
 *
 * @throws Refusal where none takes it, and one is of another crawl
 */
export async function askInTurn(
  whom: Asked,
  verb: ControlVerb,
  args: readonly string[],
): Promise<ClusterAnswer> {
  const { agents, failures } = usersOf(whom);
  const others: string[] = [];
  for (const { id, address } of agents) {
    const answer = await askAgent(address, verb, args, answerMsMax, whom.crawl);
    if (answer.ok) return { ok: true, by: id, result: answer.result };
    failures.push(`${id}: ${answer.message}`);
    if (answer.otherCrawl !== undefined)
      others.push(refusedText(whom, id, address, answer.otherCrawl));
  }
  if (others.length > 0) throw new Refusal(4, others[0]!);
  return { ok: false, failures };
}

function refusedText({ crawl }: Asked, id: string, address: string, other: string): string {
  return (
    `${id}: the agent at ${address} belongs to crawl '${other}', not '${crawl}'; ` +
    `restore 'name: ${other}' in the config, or give the agents of '${crawl}' endpoints of their own`
  );
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
