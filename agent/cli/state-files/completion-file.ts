// `DATA/complete.json`: the record that a crawl is complete. Its agents write it, and later commands
// read it. It names the crawl by a key of its seeds, limits and scope, so that a changed config crawls on. While a
// finished crawl is refreshed it says that instead, so that whoever goes on later knows the round.

import fs from 'node:fs';
import path from 'node:path';
import type { Config } from '../../../config/config.ts';
import { readText } from '../../../config/file/read-text.ts';
import { crawlKey } from '../../../config/fingerprint.ts';
import { type LeftOut, openWork } from './left-out.ts';
import { type StateTotals, stateTotals } from './state-totals.ts';

/** No key of a crawl, which are hexadecimal. */
const REFRESHING = 'refreshing';
/** A thousand agents with their totals, and more. */
const bytesMax = 1024 * 1024;

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
  /** Of other seeds or limits. */
  | { readonly kind: 'other' }
  /** Not what this program writes; `why` is a sentence with the file as its actor. */
  | { readonly kind: 'damaged'; readonly isFile: boolean; readonly why: string }
  | { readonly kind: 'none' };

export function readCompletion(config: Config): Completion {
  const file = fileOf(config);
  const read = readText(file, bytesMax);
  if (!read.ok) {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return { kind: 'none' };
    return { kind: 'damaged', isFile: stat.isFile(), why: `${file} ${read.message}` };
  }
  const note = parseNote(read.text);
  if (note === null) {
    return { kind: 'damaged', isFile: true, why: `${file} is not a record of completion` };
  }
  if (note.crawl === REFRESHING && note.round !== undefined) {
    return { kind: 'refreshing', round: note.round };
  }
  return note.crawl === crawlKey(config) ? { kind: 'complete', note } : { kind: 'other' };
}

/** By hand: an agent that `launch` has started does without the library for schemas. */
function parseNote(text: string): CompletionNote | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(json)) return null;
  const { crawl, at, agents, states = {}, round = 0 } = json;
  const isSound =
    typeof crawl === 'string' &&
    [at, round].every(Number.isSafeInteger) &&
    Array.isArray(agents) &&
    agents.every((agent) => typeof agent === 'string') &&
    isRecord(states) &&
    Object.values(states).every(isTotals);
  return isSound ? (json as unknown as CompletionNote) : null;
}

function isTotals(value: unknown): boolean {
  return isRecord(value) && [value.pages, value.queued].every(Number.isSafeInteger);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Records the end of the crawl, unless another agent of this directory has done so already, or states
 * of agents that were not there, running or not, have URLs queued that nobody else knows.
 *
 * @returns these states, if nothing was recorded for them
 */
export function recordCompletion(
  config: Config,
  what: Omit<CompletionNote, 'crawl' | 'states'>,
): readonly LeftOut[] {
  const known = readCompletion(config);
  if (known.kind === 'complete' && known.note.round === what.round) return [];
  const { dataDir } = config.agent;
  // An agent that has just started, or hears nobody, runs beside them and is no part of their end.
  const open = openWork(dataDir, config.name, what.agents, { runningToo: true });
  if (open.length > 0) return open;
  const states = what.agents.flatMap((agent) => {
    const totals = stateTotals(dataDir, agent);
    return totals === null ? [] : [[agent, totals] as const];
  });
  write(config, { crawl: crawlKey(config), ...what, states: Object.fromEntries(states) });
  return [];
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
  try {
    fs.writeFileSync(unfinished, `${JSON.stringify(note)}\n`, { flush: true });
    fs.renameSync(unfinished, file);
  } catch (error) {
    fs.rmSync(unfinished, { force: true });
    throw error;
  }
}

export function removeCompletion(config: Config): void {
  fs.rmSync(fileOf(config), { force: true });
}

/** Takes the word that the crawl is over away, so that putting it back takes no space. */
export function setCompletionAside(config: Config): { drop(): void; putBack(): void } | null {
  if (readCompletion(config).kind !== 'complete') return null;
  const file = fileOf(config);
  const aside = `${file}.${process.pid}.tmp`;
  fs.renameSync(file, aside);
  return {
    drop: () => fs.rmSync(aside, { force: true }),
    putBack: () => fs.renameSync(aside, file),
  };
}

function fileOf(config: Config): string {
  return path.join(config.agent.dataDir, 'complete.json');
}
