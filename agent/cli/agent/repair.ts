// The repair of a complete crawl: an agent whose state file is missing or damaged gets it back from the
// copies that the others have, and the crawl ends again. Until all of them have met, none may crawl: an
// agent with an empty state would begin with the seeds. Decided here, for `launch` and `agent`.

import { type Config, membersOf } from '../../../config/config.ts';
import { shownCrawl } from '../common/load-config.ts';
import { programName } from '../common/output.ts';
import type { CheckedCompletion, Unsound } from '../state-files/completion-check.ts';

export interface RepairRequest {
  /** Agents that are started. */
  readonly ids: readonly string[];
  /** Agents of this machine: those that are not started here are not waited for. */
  readonly local: readonly string[];
  /** By `--repair`. */
  readonly asked: boolean;
}

export type Repair =
  | {
      readonly ok: true;
      /** Agents that must meet before any of them crawls; none where there is nothing to repair. */
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
  const isTooMuch = agents.length > copies;
  if (isTooMuch && !asked) {
    return { ok: false, message: [...lost, ...fewCopies(config, agents, copies)].join('\n') };
  }
  // The agent itself says what is wrong with its file, when it begins with an empty one.
  const which = agents.map(({ agent }) => agent).join(', ');
  const what = `${which}: no sound state in ${config.agent.dataDir}`;
  return {
    ok: true,
    awaits,
    notes: [`${what}; what is lost comes back from the copies of the other agents`],
  };
}

const nothing: Repair = { ok: true, awaits: [], notes: [] };

/** They have crawled by another config, as a rule in another data directory. */
function ofStrangers(config: Config, strangers: readonly Unsound[]): string[] {
  const ids = strangers.map(({ agent }) => agent).join(', ');
  return [
    `the config does not have ${ids}, which was there when the crawl ended:`,
    `bring its directory into ${config.agent.dataDir}, wherever it is`,
  ];
}

function noCopies(config: Config): string[] {
  return [
    'no other agent has copies of what it held (cluster.backups, number of agents), and the pages of its',
    'hosts cannot come back by a repair: restore the file from a backup of your own, or begin anew:',
    `  ${programName()} launch ${shownCrawl(config)} --fresh`,
  ];
}

function fewCopies(config: Config, agents: readonly Unsound[], copies: number): string[] {
  const kept = copies === 1 ? '1 other agent' : `${copies} other agents`;
  return [
    `each host is kept by ${kept}, and ${agents.length} states are lost: what only those had cannot`,
    'come back. Restore one of the files from a backup of your own, or repair what can be repaired:',
    `  ${programName()} launch ${shownCrawl(config)} --repair`,
  ];
}
