// Checks that a crawl which `complete.json` records as complete still is. The state files of its
// agents must be present, undamaged and hold no less than at its end, and no other state file in
// the data directory may hold work that they lack. Their directives must be those at its end.

import fs from 'node:fs';
import path from 'node:path';
import { type Config, membersOf } from '../../../config/config.ts';
import { claimsOf } from '../../composition/config-parts.ts';
import { WHOLE_BYTES_MAX } from '../../storage/file/database.ts';
import { sizeOf } from '../../storage/file/examination.ts';
import { STATE_SUFFIXES } from '../../storage/file/quarantine.ts';
import { examineReadable } from '../../storage/file/reading.ts';
import { barredAmong, permissionMissing } from '../../storage/file/storage-failure.ts';
import { messageOf, Refusal, scratchRefusal } from '../common/exit-code.ts';
import { openStateFiles } from '../common/query-files.ts';
import { isLocked } from '../common/running.ts';
import { type Completion, type CompletionNote, readCompletion } from './completion-file.ts';
import { compareStates } from './left-out.ts';
import { leftOutText } from './left-out-text.ts';
import { ownFiles } from './other-crawl.ts';
import { copiesOf, ownersOf } from './query-owners.ts';
import { ordersOf, stateTotals } from './state-totals.ts';

const { R_OK, X_OK } = fs.constants;

/** An agent whose state is missing or damaged; `why` is a sentence that does not name the agent. */
export interface Unsound {
  readonly agent: string;
  readonly why: string;
}

export type CheckedCompletion =
  | Completion
  /** The crawl is complete, but these states are missing or damaged. */
  | {
      readonly kind: 'unsound';
      readonly note: CompletionNote;
      readonly agents: readonly Unsound[];
      /** Number of other agents with a copy of each host. */
      readonly copies: number;
    }
  /** The state files do not match the recorded end of the crawl. */
  | {
      readonly kind: 'changed';
      readonly note: CompletionNote;
      readonly why: readonly string[];
      /** A state is older than the end, so URLs may be lost that the others count as known. */
      readonly isSetBack: boolean;
    };

/**
 * @param here - agents of this machine. An agent of the record without a directory counts as
 *   missing if it is one of them or not in the config. An agent of another machine may have none,
 *   and with `cluster.contacts` it need not be in the config.
 */
export function checkedCompletion(config: Config, here: readonly string[]): CheckedCompletion {
  const completion = readCompletion(config);
  if (completion.kind !== 'complete') return completion;
  const { note } = completion;
  const { dataDir } = config.agent;
  const elsewhere = membersOf(config).filter(({ id }) => !here.includes(id));
  const mayBeAnywhere = config.cluster.contacts.length > 0;
  const members = note.agents.filter((agent) => {
    const isListed = elsewhere.some(({ id }) => id === agent);
    const isElsewhere = isListed || (mayBeAnywhere && !here.includes(agent));
    return !isElsewhere || fs.existsSync(path.join(dataDir, agent));
  });
  const agents = members.flatMap((agent) => {
    const why = unsoundness(config, agent);
    return why === null ? [] : [{ agent, why }];
  });
  if (agents.length > 0)
    return { kind: 'unsound', note, agents, copies: copiesAtEnd(config, note) };
  const { leftOut } = compareStates(dataDir, config.name, note.agents);
  const older = members.flatMap((agent) => setBack(dataDir, agent, note));
  const orders = members.flatMap((agent) => reordered(dataDir, agent, note));
  // A block that has ended queues URLs again, but removes no pages.
  const hasLostPages = members.some((agent) => hasFewerPages(dataDir, agent, note));
  const isSetBack = hasLostPages || (older.length > 0 && orders.length === 0);
  const why = [
    ...older,
    ...(isSetBack
      ? [
          'URLs found after that older state may be lost; after the end, --refresh finds those that pages link to',
        ]
      : []),
    ...orders,
    ...leftOut.map((one) => `${leftOutText(one)}, which the completion record does not include`),
  ];
  return why.length > 0 ? { kind: 'changed', note, why, isSetBack } : completion;
}

/** As `checkedCompletion`; null if a state cannot be read by this user, or not be copied. */
export function completionKind(
  config: Config,
  here: readonly string[],
): CheckedCompletion['kind'] | null {
  try {
    return checkedCompletion(config, here).kind;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** Uses the number of backups of the completed crawl, since the config may have changed. */
function copiesAtEnd(config: Config, note: CompletionNote): number {
  const { files } = openStateFiles(config.agent.dataDir, []);
  try {
    return copiesOf(ownersOf(files, config).backups, note.agents);
  } finally {
    for (const file of files) file.close();
  }
}

/**
 * Those of the agents that have taken part in an incomplete crawl and whose state is missing or
 * damaged, and the number of other agents with a copy of each host.
 */
export function lostStates(
  config: Config,
  ids: readonly string[],
): { readonly agents: readonly Unsound[]; readonly copies: number } {
  const { dataDir } = config.agent;
  const { own: files, others } = ownFiles(openStateFiles(dataDir, []).files, config.name);
  for (const [file] of others) file.close();
  try {
    // Without any state the crawl begins anew, and finds all URLs again.
    if (files.length === 0) return { agents: [], copies: 0 };
    const { view, backups } = ownersOf(files, config);
    const agents = ids.flatMap((agent) => {
      const hasState = fs.existsSync(path.join(dataDir, agent, 'state.sqlite'));
      const why = hasState || view.includes(agent) ? unsoundness(config, agent, 0) : null;
      return why === null ? [] : [{ agent, why }];
    });
    return { agents, copies: copiesOf(backups, view) };
  } finally {
    for (const file of files) file.close();
  }
}

/**
 * Says what is wrong with the state file of an agent.
 *
 * @param wholeBytesMax - smaller files are read whole
 * @returns null if the file is sound, or if the agent runs
 * @throws Refusal if this user may not read it, or cannot copy it
 */
function unsoundness(
  config: Config,
  agent: string,
  wholeBytesMax = WHOLE_BYTES_MAX,
): string | null {
  const directory = path.join(config.agent.dataDir, agent);
  const file = path.join(directory, 'state.sqlite');
  if (isLocked(directory)) return null;
  const barred = barredAmong([directory], R_OK | X_OK) ?? barredAmong(filesOf(file), R_OK);
  // Nothing is lost, so a repair would be the wrong remedy.
  if (barred !== undefined) throw new Refusal(4, permissionMissing(barred));
  try {
    const whole = sizeOf(file) <= wholeBytesMax;
    const found = examineReadable(file, claimsOf(config, agent), whole);
    if ('ok' in found) {
      if (found.scratch) throw scratchRefusal(found.scratch, `${file} ${found.why}`);
      return `${file} ${found.why}`;
    }
    if (found.kind === 'absent') return `${file} is missing`;
    return found.kind === 'damaged' ? `${file} ${found.why}` : null;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    return `${file} cannot be read (${messageOf(error)})`;
  }
}

function filesOf(file: string): string[] {
  return STATE_SUFFIXES.map((suffix) => file + suffix);
}

/** Reports a state that holds fewer pages or more queued URLs than at the end of the crawl. */
function setBack(dataDir: string, agent: string, { states }: CompletionNote): string[] {
  const [then, now] = [states?.[agent], stateTotals(dataDir, agent)];
  if (then === undefined || now === null) return [];
  if (now.pages >= then.pages && now.queued <= then.queued) return [];
  const text = ({ pages, queued }: typeof then) => `${pages} pages and ${queued} queued URLs`;
  return [`${agent}: its state has ${text(now)}; at the end of the crawl it had ${text(then)}`];
}

function hasFewerPages(dataDir: string, agent: string, { states }: CompletionNote): boolean {
  return (stateTotals(dataDir, agent)?.pages ?? Infinity) < (states?.[agent]?.pages ?? 0);
}

/** Reports a state whose blocks have changed, or whose round has, since the end or before it. */
function reordered(dataDir: string, agent: string, { orders }: CompletionNote): string[] {
  const now = ordersOf(dataDir, agent);
  if (orders === undefined || now === null || now === orders) return [];
  return [`${agent}: its blocks or its round are not those at the end of the crawl`];
}
