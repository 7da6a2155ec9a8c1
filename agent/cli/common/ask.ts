// Asks a cluster through any of its agents; all agents are equal. A question is sent to all at
// once, and the first answer counts. A command is sent to one agent after the other until one
// accepts it, because that agent forwards it to all.

import path from 'node:path';
import type { AgentEntry } from '../../../config/config.ts';
import type { ControlVerb, MemberCard } from '../../core/protocol/messages.ts';
import { askAgent } from '../../messaging/control-client.ts';
import { Refusal } from './exit-code.ts';
import { isUnused } from './running.ts';

/** Time limit of an answer in ms: the 1.5 s that an agent waits for the others, and a reserve. */
const answerMsMax = 4000;

export type ClusterAnswer =
  | { readonly ok: true; readonly by: string; readonly result: unknown }
  | {
      readonly ok: false;
      readonly failures: readonly string[];
      /** An agent has refused the command. */
      readonly isRefused?: boolean;
    };

/** How long the answer of a member is awaited after that of another agent: it may wait for a third. */
const memberMsMax = 2000;

/** The crawl to ask, and its agents. */
export interface Asked {
  readonly agents: readonly AgentEntry[];
  /** Name of the crawl. */
  readonly crawl: string;
  readonly dataDir: string;
}

/** Judges the answer of an agent. */
interface Judge {
  /** Whether the answer has the right shape; another one counts as a failure. */
  readonly isReadable: (result: unknown) => boolean;
  /** Whether the agent has joined the cluster: only then does it know all members. */
  readonly isMember: (result: unknown, by: string) => boolean;
}

/**
 * Asks all agents at once; returns the first answer of a member, or of another agent if no member
 * answers soon after it.
 *
 * @throws Refusal if none answers and one belongs to another crawl, or this process has no socket
 */
export async function askFirst(
  whom: Asked,
  verb: ControlVerb,
  { isReadable, isMember }: Judge,
): Promise<ClusterAnswer> {
  const { agents, failures } = askable(whom);
  const others: string[] = [];
  const alone: ClusterAnswer[] = [];
  const waited = Promise.withResolvers<ClusterAnswer>();
  let timer: NodeJS.Timeout | undefined;
  const asked = agents.map(async ({ id, address }) => {
    const answer = await askAgent(address, verb, [], answerMsMax, whom.crawl);
    if (answer.ok && isReadable(answer.result)) {
      const { result } = answer;
      if (isMember(result, id)) return { ok: true, by: id, result } as const;
      alone.push({ ok: true, by: id, result });
      timer ??= setTimeout(() => waited.resolve(alone[0]!), memberMsMax);
      throw new Error('not a member');
    }
    if (answer.ok) {
      failures.push(`unreadable answer of ${id}`);
      throw new Error('unreadable');
    }
    failures.push(failureOf(id, answer.message));
    if (answer.code === 'exhausted') throw new Refusal(1, exhaustedText(answer.message));
    if (answer.otherCrawl !== undefined)
      others.push(refusedText(whom, id, address, answer.otherCrawl));
    throw new Error(answer.message);
  });
  try {
    return await Promise.race([Promise.any(asked), waited.promise]);
  } catch (error) {
    if (alone.length > 0) return alone[0]!;
    if (others.length > 0) throw new Refusal(4, others[0]!);
    const exhausted = (error as AggregateError).errors.find((one) => one instanceof Refusal);
    if (exhausted !== undefined) throw exhausted;
    return { ok: false, failures };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Asks the agents one after the other until one accepts.
 *
 * @param to - the agents to which it is to be forwarded; absent: the members of the agent
 * @throws Refusal if none accepts and one belongs to another crawl, or this process has no socket
 */
export async function askInTurn(
  whom: Asked,
  verb: ControlVerb,
  args: readonly string[],
  to?: readonly MemberCard[],
): Promise<ClusterAnswer> {
  const { agents, failures } = askable(whom);
  const others: string[] = [];
  let isRefused = false;
  for (const { id, address } of agents) {
    const answer = await askAgent(address, verb, args, answerMsMax, whom.crawl, to);
    if (answer.ok) return { ok: true, by: id, result: answer.result };
    failures.push(failureOf(id, answer.message));
    if (answer.code === 'exhausted') throw new Refusal(1, exhaustedText(answer.message));
    isRefused ||= answer.code === 'refused';
    if (answer.otherCrawl !== undefined)
      others.push(refusedText(whom, id, address, answer.otherCrawl));
  }
  if (others.length > 0) throw new Refusal(4, others[0]!);
  return { ok: false, failures, isRefused };
}

/** A contact is named by its address, with which the message may begin. */
function failureOf(id: string, message: string): string {
  return message.startsWith(`${id}: `) ? message : `${id}: ${message}`;
}

/** Whether an agent answers is not known then. */
function exhaustedText(why: string): string {
  return `${why}; try again in some seconds, or permit more open files (ulimit -n)`;
}

function refusedText({ crawl }: Asked, id: string, address: string, other: string): string {
  return (
    `${id}: the agent at ${address} belongs to crawl '${other}', not '${crawl}'; ` +
    `restore 'name: ${other}' in the config, or give the agents of '${crawl}' endpoints of their own`
  );
}

/**
 * Leaves out agents whose directories are on this machine and not in use: a process at their
 * endpoint belongs to another data directory, for example to the one that was copied.
 */
function askable({ agents, dataDir }: Asked) {
  const unused = agents.filter(({ id }) => isUnused(path.join(dataDir, id)));
  return {
    agents: agents.filter((agent) => !unused.includes(agent)),
    failures: unused.map(({ id }) => `${id}: ${NONE_RUNS} ${path.join(dataDir, id)}`),
  };
}

const NONE_RUNS = 'no agent runs in';

/** Whether the failure is only that an agent of this machine has ended. */
export function isOfEnded(failure: string): boolean {
  return failure.includes(`: ${NONE_RUNS} `);
}
