// `DATA/complete.json`: the record that a crawl is complete. Its agents write it, and later commands
// read it. It names the crawl by a key of its seeds, limits and scope, so that a changed config crawls on. While a
// finished crawl is refreshed it says that instead, so that whoever goes on later knows the round.

import fs from 'node:fs';
import path from 'node:path';
import type { Config } from '../../config/config.ts';
import { crawlKey } from '../../config/fingerprint.ts';
import { type StateTotals, stateTotals } from './state-totals.ts';

/** No key of a crawl, which are hexadecimal. */
const REFRESHING = 'refreshing';

/** What the file holds. */
export interface CompletionNote {
  /** `crawlKey` of the config. */
  readonly crawl: string;
  /** Unix milliseconds. */
  readonly at: number;
  /** Agents that were there at the end. */
  readonly agents: readonly string[];
  /** Of those of them that have a state file in this directory, what it held then. */
  readonly states?: Readonly<Record<string, StateTotals>>;
  /** The round that was finished; absent where the crawl was never refreshed. */
  readonly round?: number;
}

export type Completion =
  | { readonly kind: 'complete'; readonly note: CompletionNote }
  /** It was, and this round of it has begun since. */
  | { readonly kind: 'refreshing'; readonly round: number }
  /** Of other seeds or limits, or not readable as what this program writes. */
  | { readonly kind: 'other' }
  | { readonly kind: 'none' };

export function readCompletion(config: Config): Completion {
  let text: string;
  try {
    text = fs.readFileSync(fileOf(config), 'utf8');
  } catch {
    return { kind: 'none' };
  }
  try {
    const note = JSON.parse(text) as CompletionNote;
    if (note.crawl === REFRESHING && Number.isSafeInteger(note.round)) {
      return { kind: 'refreshing', round: note.round! };
    }
    return note.crawl === crawlKey(config) ? { kind: 'complete', note } : { kind: 'other' };
  } catch {
    return { kind: 'other' };
  }
}

/** Records the end of the crawl, unless another agent of this directory has done so already. */
export function recordCompletion(
  config: Config,
  what: Omit<CompletionNote, 'crawl' | 'states'>,
): void {
  const known = readCompletion(config);
  if (known.kind === 'complete' && known.note.round === what.round) return;
  const { dataDir } = config.agent;
  const states = what.agents.flatMap((agent) => {
    const totals = stateTotals(dataDir, agent);
    return totals === null ? [] : [[agent, totals] as const];
  });
  write(config, { crawl: crawlKey(config), ...what, states: Object.fromEntries(states) });
}

/** In place of the word that the crawl is over: nobody takes it for that from here on. */
export function writeRefreshing(config: Config, round: number, at: number): void {
  write(config, { crawl: REFRESHING, at, agents: [], round });
}

/** By rename, so that a reader sees a whole file or none. */
function write(config: Config, note: CompletionNote): void {
  const file = fileOf(config);
  // Agents of one machine may be started with the same round side by side.
  const unfinished = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(unfinished, `${JSON.stringify(note)}\n`, { flush: true });
  fs.renameSync(unfinished, file);
}

export function removeCompletion(config: Config): void {
  fs.rmSync(fileOf(config), { force: true });
}

function fileOf(config: Config): string {
  return path.join(config.agent.dataDir, 'complete.json');
}
