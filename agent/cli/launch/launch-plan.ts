// The steps of `launch` before it starts agents. `judgeLaunch` only reads: it selects the agents
// and refuses a launch whose directories are in use, belong to another crawl, or would leave out
// work of other agents. `prepareLaunch` then empties directories and updates `complete.json`. A
// refused launch therefore changes nothing.

import fs from 'node:fs';
import path from 'node:path';
import { type Config, membersOf } from '../../../config/config.ts';
import { claimsOf } from '../../composition/config-parts.ts';
import { wallMs } from '../../runtime/clock.ts';
import { markRepair } from '../../storage/file/database.ts';
import { foreignState } from '../../storage/file/examination.ts';
import { localAgents, selectAgents } from '../agent/local-agents.ts';
import { lossOf, repairOf } from '../agent/repair.ts';
import { cannotWrite, type ExitCode } from '../common/exit-code.ts';
import { shownCrawl, startCommand } from '../common/load-config.ts';
import { makeDirectory } from '../common/make-directory.ts';
import { programName } from '../common/output.ts';
import { isLocked } from '../common/running.ts';
import { type CheckedCompletion, checkedCompletion } from '../state-files/completion-check.ts';
import {
  awayAtEnd,
  awayText,
  type CompletionNote,
  readCompletion,
  removeCompletion,
  writeRefreshing,
} from '../state-files/completion-file.ts';
import { compareStates, statesBeside } from '../state-files/left-out.ts';
import { besideText, leftOutRefusal } from '../state-files/left-out-text.ts';
import { otherCrawlOf } from '../state-files/other-crawl.ts';
import { directivesInForce } from '../state-files/stored-directives.ts';
import { type FreshStart, planFreshStart } from './fresh-start.ts';

export interface PlanFlags {
  readonly agents?: string;
  readonly fresh?: boolean;
  readonly deleteArchives?: boolean;
  readonly refresh?: boolean;
  readonly repair?: boolean;
  readonly restart?: boolean;
  /** False: the launch serves no dashboard. */
  readonly monitor?: boolean;
}

interface Refused {
  readonly kind: 'refused';
  readonly code: ExitCode;
  readonly message: string;
}

/** A launch that the state of the data directory permits. */
export interface Start {
  readonly kind: 'start';
  /** Agents to be started. */
  readonly ids: readonly string[];
  readonly notes: readonly string[];
  /** The round that requests known pages again; null if no new round begins. */
  readonly round: number | null;
  /** Agents that must meet before any of them crawls; usually empty. */
  readonly awaits: readonly string[];
  /** URLs may be lost, so the agents check their states and the next round reads all pages anew. */
  readonly distrusts?: boolean | undefined;
  /** The members at the end of the crawl, if the agents are only to tell it to others. */
  readonly completedBy?: readonly string[];
}

export type Judgement =
  | Start
  | { readonly kind: 'complete'; readonly message: string; readonly notes: readonly string[] }
  | Refused;

/** Changes nothing. The agents of a numbered cluster need no ports yet. */
export async function judgeLaunch(config: Config, flags: PlanFlags): Promise<Judgement> {
  const { agents } = config.cluster;
  const all = membersOf(config).map(({ id }) => id);
  const found = typeof agents === 'number' ? null : await localAgents(agents);
  const local = found === null ? all : found.local.map(({ id }) => id);
  const chosen = selectAgents(flags.agents, all, local, found?.why);
  if (!chosen.ok) {
    const joins = local.length === 0 && config.cluster.contacts.length > 0;
    const start = `${programName()} agent ${shownCrawl(config)} --id ID --listen ENDPOINT`;
    const more = joins
      ? `\nto start an agent that joins through cluster.contacts:\n  ${start}`
      : '';
    return { kind: 'refused', code: chosen.code, message: `${chosen.message}${more}` };
  }
  const { ids } = chosen;
  const elsewhere = flags.agents === undefined ? [...(found?.why.values() ?? [])] : [];
  const notes = elsewhere.map((why) => `not started here: ${why}`);

  const inUse = inUseOf(config, ids, flags);
  if (inUse !== null) return { kind: 'refused', code: 4, message: inUse };
  if (flags.fresh) {
    const beside = statesBeside(config.agent.dataDir, config.name, ids);
    if (beside.length > 0) notes.push(besideText(config, beside));
    return { kind: 'start', ids, notes, round: null, awaits: [] };
  }
  const foreign = foreignAmong(config, ids);
  if (foreign !== null) return { kind: 'refused', code: 4, message: foreign };
  notes.push(...directivesInForce(config));
  const completion = checkedCompletion(config, local);
  if (completion.kind === 'damaged' && !completion.isFile) {
    return { kind: 'refused', code: 4, message: `${completion.why}; move it away` };
  }
  if (completion.kind === 'complete' && !flags.refresh && !flags.repair) {
    return overOrTold(config, completion.note, { ids, notes });
  }
  const { leftOut, unknown } = compareStates(config.agent.dataDir, config.name, ids);
  if (leftOut.length > 0) {
    const { refresh = false, repair = false } = flags;
    const refused = { chosen: ids, local, refresh, repair };
    return { kind: 'refused', code: 4, message: leftOutRefusal(config, leftOut, refused) };
  }
  const loss = flags.repair || isOver(completion) ? null : lossOf(config, ids);
  if (loss !== null) return { kind: 'refused', code: 4, message: loss };
  const repair = repairOf(config, completion, { ids, local, asked: flags.repair ?? false });
  if (!repair.ok) return { kind: 'refused', code: 4, message: repair.message };
  notes.push(...unknown, ...completionNotes(completion, flags), ...repair.notes);
  const distrusts = flags.repair || (completion.kind === 'changed' && completion.isSetBack);
  const round = roundOf(completion, flags);
  return { kind: 'start', ids, notes, round, awaits: repair.awaits, distrusts };
}

/** The agents of a complete crawl are started only to tell it to agents that were away. */
function overOrTold(
  config: Config,
  note: CompletionNote,
  { ids, notes }: Pick<Start, 'ids' | 'notes'>,
): Judgement {
  const away = awayAtEnd(config, note);
  if (away.length === 0) {
    const message =
      'the crawl is complete already; --refresh requests its pages again, --fresh starts over';
    return { kind: 'complete', message, notes };
  }
  const told = { round: null, awaits: [], completedBy: note.agents };
  return { kind: 'start', ids, notes: [...notes, awayText(away)], ...told };
}

function isOver({ kind }: CheckedCompletion): boolean {
  return kind === 'complete' || kind === 'unsound';
}

function completionNotes(completion: CheckedCompletion, flags: PlanFlags): string[] {
  return [
    ...(completion.kind === 'other' ? ['the config has changed: the crawl continues'] : []),
    ...(completion.kind === 'damaged'
      ? [`${completion.why}: the crawl continues; the file is rewritten at the end`]
      : []),
    ...(completion.kind === 'changed' ? ['the crawl continues:', ...completion.why] : []),
    ...(flags.refresh &&
    !isOver(completion) &&
    !['refreshing', 'other', 'damaged'].includes(completion.kind)
      ? ['the crawl is not complete and continues; --refresh needs a complete crawl']
      : []),
  ];
}

/** Plans what `--fresh` does to the directories of `start`. Changes nothing. */
export function judgeFresh(config: Config, start: Start, flags: PlanFlags): FreshStart | Refused {
  const directories = directoriesOf(config, start);
  try {
    const fresh = planFreshStart(directories, wallMs(), flags.deleteArchives ?? false);
    return typeof fresh === 'string' ? { kind: 'refused', code: 4, message: fresh } : fresh;
  } catch (error) {
    return { kind: 'refused', ...cannotWrite(`in ${config.agent.dataDir}`, error) };
  }
}

/**
 * Writes what must be on disk before the agents of `start` are started. Runs the plan `fresh`.
 *
 * @param tell - called with each line of the plan before the plan is run
 */
export function prepareLaunch(
  config: Config,
  start: Start,
  fresh: FreshStart | null,
  tell: (line: string) => void,
): Refused | null {
  const { dataDir } = config.agent;
  try {
    makeDirectory(dataDir);
    fs.accessSync(dataDir, fs.constants.W_OK);
    for (const line of fresh?.lines ?? []) tell(line);
    fresh?.run();
    // At its next start each agent checks its whole state file, whatever its size.
    if (start.distrusts)
      for (const directory of directoriesOf(config, start)) markRepair(directory);
    if (start.round !== null) writeRefreshing(config, start.round, wallMs());
    else if (!start.completedBy && readCompletion(config).kind !== 'none') removeCompletion(config);
  } catch (error) {
    return { kind: 'refused', ...cannotWrite(`in ${dataDir}`, error) };
  }
  return null;
}

function directoriesOf(config: Config, { ids }: Start): string[] {
  return ids.map((id) => path.join(config.agent.dataDir, id));
}

/** The refusal if agents to be started already run; null if none does. */
export function inUseOf(
  config: Config,
  ids: readonly string[],
  { fresh, refresh, repair }: Pick<PlanFlags, 'fresh' | 'refresh' | 'repair'>,
): string | null {
  const directoryOf = (id: string) => path.join(config.agent.dataDir, id);
  const locked = ids.filter((id) => isLocked(directoryOf(id)));
  if (locked.length === 0) return null;
  // If the running agents belong to another crawl, the operator must not stop them.
  const other = otherCrawlOf(config, locked);
  if (other !== null) return other;
  const verb = locked.length === 1 ? 'is' : 'are';
  const what = `${locked.map(directoryOf).join(', ')} ${verb} in use by a running agent`;
  const stop = `  ${programName()} stop ${shownCrawl(config)}`;
  const others = ids.filter((id) => !locked.includes(id));
  // Agents that are started alone go on with the crawl as it is.
  const isOther = fresh || refresh || repair;
  if (others.length === 0 || isOther) return `${what}; stop it first:\n${stop}`;
  const starts = others.map((id) => `  ${startCommand(id, config)}`);
  return [`${what}; start the others:`, ...starts, 'or stop all agents first:', stop].join('\n');
}

/** Why one of the state files belongs to another crawl; null if none does. */
function foreignAmong(config: Config, ids: readonly string[]): string | null {
  for (const id of ids) {
    const file = path.join(config.agent.dataDir, id, 'state.sqlite');
    try {
      const foreign = foreignState(file, claimsOf(config, id));
      if (foreign !== null) return foreign;
    } catch {
      // The file cannot be read. Its agent reports that, with the remedy, when it starts.
    }
  }
  return null;
}

/** The number of the new round: the current Unix second, but always above the previous round. */
function roundOf(completion: CheckedCompletion, flags: PlanFlags): number | null {
  switch (completion.kind) {
    case 'refreshing':
      return completion.round;
    case 'complete':
    case 'unsound': {
      if (!flags.refresh) return null;
      return Math.max(Math.floor(wallMs() / 1000), (completion.note.round ?? 0) + 1);
    }
    case 'other':
    case 'damaged':
      return flags.refresh ? Math.floor(wallMs() / 1000) : null;
    case 'changed':
    case 'none':
      return null;
  }
}
