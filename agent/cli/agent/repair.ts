// Plans the repair of a complete crawl. An agent whose state file is missing or damaged restores its
// state from the copies of the others, and the crawl ends again. No agent may crawl before all have met:
// one with an empty state would start again from the seeds. A crawl that is not complete is refused
// if more states are lost than there are copies.

import { type Config, membersOf } from '../../../config/config.ts';
import { isListed, launchCommand } from '../common/load-config.ts';
import {
  type CheckedCompletion,
  lostStates,
  type Unsound,
} from '../state-files/completion-check.ts';

export interface RepairRequest {
  /** Agents to be started. */
  readonly ids: readonly string[];
  /** All agents of this machine. Those that are not started are not awaited. */
  readonly local: readonly string[];
  /** Whether `--repair` was given. */
  readonly asked: boolean;
}

export type Repair =
  | {
      readonly ok: true;
      /** Agents that must meet before any of them crawls; empty if there is nothing to repair. */
      readonly awaits: readonly string[];
      readonly notes: readonly string[];
    }
  | { readonly ok: false; readonly message: string };

export function repairOf(
  config: Config,
  completion: CheckedCompletion,
  { ids, local, asked }: RepairRequest,
): Repair {
  if (completion.kind !== 'complete' && completion.kind !== 'unsound') return nothing;
  const elsewhere = membersOf(config).filter(({ id }) => !local.includes(id));
  const awaits = completion.note.agents.filter((agent) => {
    return ids.includes(agent) || elsewhere.some(({ id }) => id === agent);
  });
  if (completion.kind === 'complete') {
    const note = 'repair: the crawl is complete; all state files are read whole and compared';
    return asked ? { ok: true, awaits, notes: [note] } : nothing;
  }
  const { agents, copies } = completion;
  const lost = agents.map(({ agent, why }) => `${agent}: ${why}`);
  const strangers = agents.filter(({ agent }) => !membersOf(config).some(({ id }) => id === agent));
  if (strangers.length > 0) lost.push(...ofStrangers(config, strangers));
  if (copies === 0) return { ok: false, message: [...lost, ...noCopies(config)].join('\n') };
  if (agents.length > copies && !asked) {
    return { ok: false, message: [...lost, ...fewCopies(config, agents, copies)].join('\n') };
  }
  // When the agent begins with an empty file, it logs what is wrong with the old one.
  const which = agents.map(({ agent }) => agent).join(', ');
  const what = `${which}: state missing or damaged in ${config.agent.dataDir}`;
  return {
    ok: true,
    awaits,
    notes: [`${what}; lost pages are restored from the copies of the other agents`],
  };
}

/** Why a crawl that is not complete cannot go on without a repair; null if it can. */
export function lossOf(config: Config, ids: readonly string[]): string | null {
  const { agents, copies } = lostStates(config, ids);
  if (agents.length <= copies) return null;
  const lines = agents.map(({ agent, why }) => `${agent}: ${why}`);
  return [...lines, ...fewCopies(config, agents, copies)].join('\n');
}

const nothing: Repair = { ok: true, awaits: [], notes: [] };

/** Remedy for agents that crawled with another config, usually in another data directory. */
function ofStrangers(config: Config, strangers: readonly Unsound[]): string[] {
  const ids = strangers.map(({ agent }) => agent).join(', ');
  return [
    `not in the config, but in the cluster when the crawl ended: ${ids};`,
    `copy the directory of each into ${config.agent.dataDir}`,
  ];
}

function noCopies(config: Config): string[] {
  return [
    'no other agent has copies of its hosts (cluster.backups, number of agents), so a repair cannot bring',
    'their pages back: restore the file from a backup, or start over:',
    isListed(config)
      ? `  ${launchCommand(config, ' --fresh')}`
      : `  stop all agents, and move ${config.agent.dataDir} away`,
  ];
}

function fewCopies(config: Config, agents: readonly Unsound[], copies: number): string[] {
  const kept = ['no copy', '1 copy'][copies] ?? `${copies} copies`;
  const lost = agents.length === 1 ? '1 state is' : `${agents.length} states are`;
  const what = 'Restore one of the files from a backup of your own, or repair what can be repaired';
  return [
    `each host has ${kept}, and ${lost} missing or damaged: hosts that only these`,
    ...(copies === 0
      ? [
          `agents had are lost. ${what}`,
          '(a damaged file has to be moved to another place before):',
        ]
      : [`agents had are lost. ${what}:`]),
    `  ${launchCommand(config, ' --repair')}`,
  ];
}
