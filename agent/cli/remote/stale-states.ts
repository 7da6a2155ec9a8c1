// Decides which states of the data directory are stale: of agents that run on another machine now. Their
// rows come from there. All readers of states use this decision.

import { join } from 'node:path';
import type { ClusterAnswer } from '../common/ask.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { foundAgents } from '../common/query-files.ts';
import { isFree } from '../common/running.ts';
import { askStatus } from './ask-status.ts';

export interface StatusAndStale {
  readonly answer: ClusterAnswer;
  /** The agents whose states in the data directory are stale. */
  readonly stale: readonly string[];
}

/** See `askStatus`. */
export async function askStatusAndStale(config: ResolvedConfig): Promise<StatusAndStale> {
  const { dataDir } = config.agent;
  // Looked at before and after: an agent may answer here and then end, or start here and then answer.
  const free = freeStates(dataDir);
  const answer = await askStatus(config);
  if (!answer.ok) return { answer, stale: [] };
  const { agents } = answer.result as { readonly agents: readonly { readonly id: string }[] };
  const stale = free.filter((id) => {
    return agents.some((one) => one.id === id) && isFree(join(dataDir, id));
  });
  return { answer, stale };
}

/** The agents with a state in the data directory that do not run there. */
export function freeStates(dataDir: string): string[] {
  return foundAgents(dataDir).filter((id) => isFree(join(dataDir, id)));
}

/** For agents whose states are stale. */
export function staleTexts(stale: readonly string[], dataDir: string): string[] {
  return stale.map(
    (id) =>
      `${id}: it runs on another machine, so ${join(dataDir, id)} here is of an earlier run and is ` +
      'not read; move that directory away',
  );
}
