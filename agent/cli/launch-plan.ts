// What `launch` does before it starts anything: which agents are meant, whether the crawl is over
// already, whether the directories and ports are free. All is looked at first, so that a launch that
// cannot begin changes nothing, and leaves no half of a cluster behind.

import fs from 'node:fs';
import path from 'node:path';
import type { AgentEntry } from '../../config/config.ts';
import { wallMs } from '../runtime/clock.ts';
import {
  type Completion,
  readCompletion,
  removeCompletion,
  writeRefreshing,
} from './completion-file.ts';
import { cannotWrite, type ExitCode } from './exit-code.ts';
import type { ResolvedConfig } from './load.ts';
import { localAgents, portProblem, selectAgents } from './local-agents.ts';
import { makeDirectory } from './make-directory.ts';
import { isLocked } from './running.ts';

export interface PlanFlags {
  readonly agents?: string;
  readonly fresh?: boolean;
  readonly refresh?: boolean;
}

export type Plan =
  | {
      readonly kind: 'start';
      readonly agents: readonly AgentEntry[];
      readonly notes: string[];
      /** In which known pages are asked for again; null: no other than the last. */
      readonly round: number | null;
    }
  | { readonly kind: 'complete'; readonly message: string }
  | { readonly kind: 'refused'; readonly code: ExitCode; readonly message: string };

/** A file of these marks a directory as an agent's; `--fresh` deletes no other. */
const marks = ['state.sqlite', 'agent.lock', 'agent.log'];

/** With `fresh` the directories of the chosen agents are deleted when this resolves. */
export async function planLaunch(config: ResolvedConfig, flags: PlanFlags): Promise<Plan> {
  const all = config.cluster.agents;
  const chosen = selectAgents(flags.agents, all, await localAgents(all));
  if (!chosen.ok) return { kind: 'refused', code: chosen.code, message: chosen.message };
  const { agents } = chosen;
  const directories = agents.map(({ id }) => path.join(config.agent.dataDir, id));

  const locked = directories.filter(isLocked);
  if (locked.length > 0) {
    const verb = locked.length === 1 ? 'is' : 'are';
    const message = `${locked.join(', ')} ${verb} in use by a running agent; stop it first`;
    return { kind: 'refused', code: 4, message };
  }
  const notes: string[] = [];
  const completion = readCompletion(config);
  if (completion.kind === 'complete' && !flags.fresh && !flags.refresh) {
    const message =
      'the crawl is complete already; --refresh asks what has changed, --fresh begins anew';
    return { kind: 'complete', message };
  }
  if (completion.kind === 'other' && !flags.fresh)
    notes.push('the config has changed: crawling on');
  if (completion.kind === 'none' && flags.refresh) {
    notes.push('the crawl is not complete: it goes on; --refresh is for a complete one');
  }
  const round = flags.fresh ? null : roundOf(completion, flags);

  const ports = (await Promise.all(agents.map(portProblem))).filter((problem) => problem !== null);
  if (ports.length > 0) return { kind: 'refused', code: 5, message: ports.join('\n') };
  const { dataDir } = config.agent;
  try {
    makeWritable(dataDir);
    const foreign = flags.fresh ? removeAgents(directories) : null;
    if (foreign !== null) return { kind: 'refused', code: 4, message: foreign };
    if (round !== null) writeRefreshing(config, round, wallMs());
    else if (completion.kind !== 'none') removeCompletion(config);
  } catch (error) {
    return { kind: 'refused', ...cannotWrite(`in ${dataDir}`, error) };
  }
  return { kind: 'start', agents, notes, round };
}

/** The Unix second at which it begins, and later than the one before whatever the clock says. */
function roundOf(completion: Completion, flags: PlanFlags): number | null {
  switch (completion.kind) {
    case 'refreshing':
      return completion.round;
    case 'complete': {
      if (!flags.refresh) return null;
      return Math.max(Math.floor(wallMs() / 1000), (completion.note.round ?? 0) + 1);
    }
    case 'other':
      return flags.refresh ? Math.floor(wallMs() / 1000) : null;
    case 'none':
      return null;
  }
}

function makeWritable(dataDir: string): void {
  makeDirectory(dataDir);
  fs.accessSync(dataDir, fs.constants.W_OK);
}

/** @returns why nothing was removed, or null */
function removeAgents(directories: readonly string[]): string | null {
  const present = directories.filter((directory) => fs.existsSync(directory));
  for (const directory of present) {
    const names = fs.readdirSync(directory);
    if (names.length === 0 || marks.some((mark) => names.includes(mark))) continue;
    return `${directory} is no agent's directory: it is not deleted; move it away`;
  }
  for (const directory of present) fs.rmSync(directory, { recursive: true });
  return null;
}
