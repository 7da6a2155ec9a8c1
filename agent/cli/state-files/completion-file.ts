// `DATA/complete.json`, the record that a crawl is complete. It identifies the crawl by a key of
// its seeds, limits and scope, so that a changed config continues the crawl. While a complete crawl
// is refreshed, the file holds the number of the round instead, for launches that continue the
// refresh.

import fs from 'node:fs';
import path from 'node:path';
import { type Config, membersOf } from '../../../config/config.ts';
import { readText } from '../../../config/file/read-text.ts';
import { crawlKey } from '../../../config/fingerprint.ts';
import { foundAgents, openStateFiles } from '../common/query-files.ts';
import { isLocked, refuseIfBarred } from '../common/running.ts';
import { type LeftOut, openWork } from './left-out.ts';
import type { EventHistory } from './query-members.ts';
import { ownersOf } from './query-owners.ts';
import { ordersOf, type StateTotals, stateTotals } from './state-totals.ts';

/** In the data directory. */
export const COMPLETION_FILE = 'complete.json';
/** In place of the crawl's key, which is hexadecimal. */
const REFRESHING = 'refreshing';
/** Bytes of the file: enough for several thousand agents with their totals. */
const bytesMax = 1024 * 1024;

/** What the file holds. */
export interface CompletionNote {
  /** The name of the crawl: another may share the directory. Absent in files of earlier versions. */
  readonly name?: string;
  /** `crawlKey` of the config. */
  readonly crawl: string;
  /** Unix milliseconds. */
  readonly at: number;
  /** Members at the end of the crawl. */
  readonly agents: readonly string[];
  /** What their state files in this directory held at the end, by agent. */
  readonly states?: Readonly<Record<string, StateTotals>>;
  /** The finished round; absent if the crawl was never refreshed. */
  readonly round?: number;
  /** `ordersOf` each member at the end. */
  readonly orders?: string;
}

export type Completion =
  | { readonly kind: 'complete'; readonly note: CompletionNote }
  /** It was complete, and this round has begun since. */
  | { readonly kind: 'refreshing'; readonly round: number }
  /** The record is for other seeds, limits or scope. */
  | { readonly kind: 'other' }
  /** Unreadable or malformed; `why` is a sentence that begins with the file. */
  | { readonly kind: 'damaged'; readonly isFile: boolean; readonly why: string }
  | { readonly kind: 'none' };

/** @throws Refusal if only another user may read the data directory */
export function readCompletion(config: Config): Completion {
  const file = fileOf(config);
  const read = readText(file, bytesMax);
  if (!read.ok) {
    refuseIfBarred(config.agent.dataDir);
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return { kind: 'none' };
    return { kind: 'damaged', isFile: stat.isFile(), why: `${file} ${read.message}` };
  }
  const note = parseNote(read.text);
  if (note === null) {
    return { kind: 'damaged', isFile: true, why: `${file} is not a completion record` };
  }
  if (note.name !== undefined && note.name !== config.name) return { kind: 'none' };
  if (note.crawl === REFRESHING && note.round !== undefined) {
    return { kind: 'refreshing', round: note.round };
  }
  return note.crawl === crawlKey(config) ? { kind: 'complete', note } : { kind: 'other' };
}

/** Validates without the schema library, which a launched agent does not load. */
function parseNote(text: string): CompletionNote | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(json)) return null;
  const { name = '', crawl, at, agents, states = {}, round = 0, orders = '' } = json;
  const isSound =
    typeof crawl === 'string' &&
    [at, round].every(Number.isSafeInteger) &&
    [name, orders].every((text) => typeof text === 'string') &&
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
 * Records that the crawl is complete, unless an agent of this directory has already recorded it with
 * the same orders; adds agents of other machines that were told later. Also records nothing if the
 * state of an agent outside `what.agents` has queued URLs that no member knows.
 *
 * @returns these states
 */
export function recordCompletion(
  config: Config,
  what: Omit<CompletionNote, 'crawl' | 'states'>,
): readonly LeftOut[] {
  const known = readCompletion(config);
  const isKnown = known.kind === 'complete' && known.note.round === what.round;
  const away = isKnown ? awayAtEnd(config, known.note) : [];
  const isSame = isKnown && (what.orders ?? known.note.orders) === known.note.orders;
  if (isKnown && isSame && !what.agents.some((agent) => away.includes(agent))) return [];
  const recorded = isKnown ? known.note.agents : [];
  const { dataDir } = config.agent;
  const agents = membersAtEnd(
    config,
    [...new Set([...recorded, ...what.agents])].sort(),
    what.orders,
  );
  // A running agent may not be a member: it has just started, or receives no messages.
  const open = openWork(dataDir, config.name, agents, { runningToo: true });
  if (open.length > 0) return open;
  const states = agents.flatMap((agent) => {
    const totals = stateTotals(dataDir, agent);
    return totals === null ? [] : [[agent, totals] as const];
  });
  write(config, { crawl: crawlKey(config), ...what, agents, states: Object.fromEntries(states) });
  return [];
}

/**
 * The agents of other machines that were away at the end of the crawl and wait for ever unless they
 * are told (PROTOCOL rule 14). Under `quorum: none` an agent ends alone.
 */
export function awayAtEnd(config: Config, { agents }: CompletionNote): readonly string[] {
  if (config.cluster.quorum !== 'majority') return [];
  const isHere = (id: string) => fs.existsSync(path.join(config.agent.dataDir, id));
  return membersOf(config).flatMap(({ id }) => (agents.includes(id) || isHere(id) ? [] : [id]));
}

export function awayText(away: readonly string[]): string {
  return `the crawl is complete; starts to tell ${away.join(', ')}, which did not see its end`;
}

/**
 * With the overlay kademlia an agent knows only its neighbours; the state files name the others. An
 * agent of this directory that does not run and did not see this end was no member: if all agents
 * that knew it died with it, no file says so.
 */
function membersAtEnd(config: Config, known: readonly string[], orders?: string) {
  if (config.cluster.overlay === 'ring') return known;
  const { dataDir } = config.agent;
  // Before the files are read: an agent that ends in between has written that it saw the end.
  const running = foundAgents(dataDir).filter((agent) => isLocked(path.join(dataDir, agent)));
  const { files } = openStateFiles(dataDir, []);
  try {
    const own = files.filter((file) => file.otherCrawl(config.name) === undefined);
    const { view, histories } = ownersOf(own, config);
    const sawEnd = ({ agent, end }: EventHistory) =>
      end === 'complete' && (orders === undefined || ordersOf(dataDir, agent) === orders);
    const dead = histories.flatMap((history) => {
      return running.includes(history.agent) || sawEnd(history) ? [] : [history.agent];
    });
    // Members of other machines may have done the work that a dead agent left here.
    const isWhole = known.every((id) => histories.some(({ agent }) => agent === id));
    const members = isWhole ? view.filter((id) => !dead.includes(id)) : view;
    return [...new Set([...known, ...members])].sort();
  } finally {
    for (const file of files) file.close();
  }
}

/** Replaces the completion record, so that the crawl no longer counts as complete. */
export function writeRefreshing(config: Config, round: number, at: number): void {
  write(config, { crawl: REFRESHING, at, agents: [], round });
}

/** Writes atomically by renaming a temporary file. */
function write(config: Config, note: CompletionNote): void {
  const file = fileOf(config);
  // Several processes may write the file at the same time.
  const unfinished = `${file}.${process.pid}.tmp`;
  try {
    fs.writeFileSync(unfinished, `${JSON.stringify({ name: config.name, ...note })}\n`, {
      flush: true,
    });
    fs.renameSync(unfinished, file);
  } catch (error) {
    fs.rmSync(unfinished, { force: true });
    throw error;
  }
}

export function removeCompletion(config: Config): void {
  fs.rmSync(fileOf(config), { force: true });
}

/** Renames the completion record, so that it can be restored even on a full disk. */
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
  return path.join(config.agent.dataDir, COMPLETION_FILE);
}
