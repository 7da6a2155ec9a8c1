// Reads and revokes the operator's directives in the state files of agents that do not run. `launch`
// prints the directives in force, since a paused or blocked crawl looks as if it hung. After `block
// '*'` has completed a crawl, the block can only be revoked here, because all agents have exited.

import fs from 'node:fs';
import path from 'node:path';
import { type Config, type ConfiguredMember, membersOf } from '../../../config/config.ts';
import { claimsOf } from '../../composition/config-parts.ts';
import {
  type DirectiveInForce,
  Directives,
  isInForce,
  isLater,
  isOfAgents,
  nothingToEnd,
  registerOf,
} from '../../core/protocol/directives.ts';
import type { Directive } from '../../core/protocol/messages.ts';
import { wallMs } from '../../runtime/clock.ts';
import { openState } from '../../storage/file/database.ts';
import { openForReading } from '../../storage/file/reading.ts';
import { permissionMissing, storageFailureOf } from '../../storage/file/storage-failure.ts';
import { AGENT_NAME, CRAWL_NAME } from '../../storage/reads/coverage-queries.ts';
import { DirectiveTable } from '../../storage/tables/directive-table.ts';
import { cannotWrite, type ExitCode, messageOf } from '../common/exit-code.ts';
import { lockLaunch } from '../common/launch-lock.ts';
import { shownCrawl } from '../common/load-config.ts';
import { delayText, programName } from '../common/output.ts';
import { foundAgents } from '../common/query-files.ts';
import { barredPath } from '../common/running.ts';
import { setCompletionAside } from './completion-file.ts';

/** Number of directives that are printed; the view `orders` has all. */
const shownMax = 10;

/** The latest directive for each kind and host, the newest first. */
function latestOf(directives: readonly Directive[]): Directive[] {
  const latest = new Map<string, Directive>();
  for (const directive of directives) {
    const known = latest.get(registerOf(directive));
    if (!known || isLater(directive, known)) latest.set(registerOf(directive), directive);
  }
  return [...latest.values()].sort((a, b) => b.n - a.n);
}

/** The directives in force, the newest first. */
function inForceIn(states: StoredDirectives['states']): Directive[] {
  return latestOf([...states.values()].flat()).filter(isInForce);
}

interface StoredDirectives {
  /** Directives by agent, for the agents of this crawl. */
  readonly states: ReadonlyMap<string, readonly Directive[]>;
  /** Sentences that name each file that could not be read. */
  readonly problems: readonly string[];
}

function storedDirectives(config: Config): StoredDirectives {
  const { dataDir } = config.agent;
  const states = new Map<string, readonly Directive[]>();
  const problems: string[] = [];
  const members = membersOf(config).map(({ id }) => id);
  for (const agent of new Set([...foundAgents(dataDir), ...members])) {
    const directory = path.join(dataDir, agent);
    const barred = barredPath(directory);
    const read =
      barred === null ? directivesIn(config, agent, directory) : permissionMissing(barred);
    if (typeof read === 'string') problems.push(`${agent}: ${read}`);
    else if (read !== null) states.set(agent, read);
  }
  return { states, problems };
}

/**
 * Null if there is no state of this crawl and agent, as in a copy of another agent's directory; an
 * error message if the file cannot be read.
 */
function directivesIn(
  { name }: Config,
  agent: string,
  directory: string,
): readonly Directive[] | string | null {
  const file = path.join(directory, 'state.sqlite');
  if (!fs.existsSync(file)) return null;
  const read = openForReading(file);
  if (!read.ok) return `${file} ${read.why}`;
  try {
    const found = (sql: string) => read.db.prepare<[], string>(sql).pluck().get();
    if (found(CRAWL_NAME) !== name || (found(AGENT_NAME) ?? agent) !== agent) return null;
    return new DirectiveTable(read.db).directives();
  } catch (error) {
    return `${file} cannot be read: ${messageOf(error)}`;
  } finally {
    read.db.close();
  }
}

/** A line for each directive in force, with the command that revokes it. */
export function directivesInForce(config: Config): string[] {
  const { states } = storedDirectives(config);
  const inForce = inForceIn(states);
  const lines = inForce
    .slice(0, shownMax)
    .map((directive) => `in force: ${textOf(directive, config)}`);
  const more = inForce.length - shownMax;
  return more > 0 ? [...lines, `in force: ${more} more (view orders)`] : lines;
}

/** The directives in force with the agents whose state files have each, and all these agents. */
export function storedInForce(config: Config): {
  readonly directives: readonly DirectiveInForce[];
  readonly agents: readonly string[];
} {
  const { states } = storedDirectives(config);
  const inForce = inForceIn(states);
  const has = (stored: readonly Directive[], one: Directive) =>
    stored.some((each) => registerOf(each) === registerOf(one) && !isLater(one, each));
  const directives = inForce.map((one) => {
    const { kind, host, value, by } = one;
    const applied = [...states].flatMap(([id, stored]) => (has(stored, one) ? [id] : []));
    return { kind, host, value, by, applied };
  });
  return { directives, agents: [...states.keys()] };
}

/** The agents with the capacities that the stored directives in force give them. */
export function directedMembers(
  config: Config,
  members: readonly ConfiguredMember[],
): readonly ConfiguredMember[] {
  const { states } = storedDirectives(config);
  const inForce = inForceIn(states);
  const valueIn = (kind: Directive['kind'], id: string) =>
    inForce.find((directive) => directive.kind === kind && directive.host === id)?.value;
  return members.map((member) => {
    const isDrained = valueIn('drain', member.id);
    const capacity = isDrained ? 0 : (valueIn('capacity', member.id) ?? member.capacity);
    return { ...member, capacity };
  });
}

function textOf({ kind, host, value, by }: Directive, config: Config): string {
  const shown = shownCrawl(config);
  if (kind === 'pause') {
    return `pause, given by ${by}; to end it: ${programName()} resume ${shown}`;
  }
  if (isOfAgents({ kind })) {
    const agent = host === '*' ? 'all' : host;
    const isDrain = kind === 'drain';
    const off = isDrain ? `undrain ${shown} ${agent}` : `${kind} ${shown} ${agent} default`;
    const what = isDrain ? `drain ${agent}` : `${kind} ${agent} ${value}`;
    return `${what}, given by ${by}; to revoke it: ${programName()} ${off}`;
  }
  const long = kind === 'delay' ? ` ${delayText(value ?? 0)}` : '';
  const hosts = host.startsWith('-') ? `--off -- '${host}'` : `'${host}' --off`;
  const off = `${programName()} ${kind} ${shown} ${hosts}`;
  return `${kind} ${host}${long}, given by ${by}; to revoke it: ${off}`;
}

export interface TakenBack {
  /** Agents whose state file has the revocation; if there are none, nothing was changed. */
  readonly agents: readonly string[];
  /** Why some agents of the data directory do not have it. */
  readonly failure: Failure | null;
  /** For a block: another pattern that still blocks its hosts. */
  readonly stillBlockedBy: string | undefined;
}

interface Failure {
  readonly code: ExitCode;
  readonly message: string;
}

type Target = Pick<Directive, 'kind' | 'host'>;

/** Whether the directive is in force, or a state file is unreadable, which may hold it. */
export function mayBeInForce(config: Config, target: Target): boolean {
  const stored = storedDirectives(config);
  return stored.problems.length > 0 || isAmong(stored, target);
}

function isAmong({ states }: StoredDirectives, target: Target): boolean {
  return inForceIn(states).some((directive) => registerOf(directive) === registerOf(target));
}

/**
 * Revokes a directive in state files of the data directory.
 *
 * @param among - their agents, which must not run; absent: all
 */
export function takeBack(config: Config, target: Target, among?: readonly string[]): TakenBack {
  const stored = storedDirectives(config);
  const { states, problems } = stored;
  // An unreadable file may hold a later directive than all others.
  if (problems.length > 0) return refused(4, problems.join('\n'));
  if (!isAmong(stored, target)) {
    return refused(1, [nothingToEnd(target), ...inForceInstead(config, target)].join('\n'));
  }
  // Prevents launches from starting agents, whose directories would be in use.
  const lock = lockLaunch(config);
  if (!lock.ok) return refused(lock.code, lock.message);
  try {
    return takeBackLocked(config, target, among ?? [...states.keys()]);
  } finally {
    lock.unlock();
  }
}

/** What is in force in place of a directive that is not. */
export function inForceInstead(config: Config, target: Target): readonly string[] {
  const { states } = storedDirectives(config);
  const known = latestOf([...states.values()].flat());
  const by = stillBlocking(known, { ...target, value: null, n: 0, by: '' });
  const still = by === undefined ? [] : [`${target.host} is blocked by ${by}: undo that block`];
  return [...still, ...directivesInForce(config)];
}

/** The agents whose state files have the directive in force. */
export function holdersOf(config: Config, target: Target): readonly string[] {
  const isIt = (one: Target) => registerOf(one) === registerOf(target);
  return storedInForce(config).directives.find(isIt)?.applied ?? [];
}

function refused(code: ExitCode, message: string): TakenBack {
  return { agents: [], failure: { code, message }, stillBlockedBy: undefined };
}

interface OpenedState {
  readonly agent: string;
  readonly directory: string;
  readonly directives: DirectiveTable;
  readonly close: () => void;
}

function takeBackLocked(config: Config, target: Target, agents: readonly string[]): TakenBack {
  const opened: OpenedState[] = [];
  try {
    for (const agent of agents) {
      const state = openOne(config, agent);
      if ('message' in state) return refused(state.code, state.message);
      opened.push(state);
    }
    const known = latestOf(opened.flatMap(({ directives }) => directives.directives()));
    const n = Math.max(0, ...known.map((directive) => directive.n)) + 1;
    const directive: Directive = { ...target, value: null, n, by: agents[0]! };
    // The completion record goes first: with it, a launch would not look for unblocked URLs.
    const record = target.kind === 'block' ? setCompletionAside(config) : null;
    const saved = save(directive, opened);
    if (saved.agents.length > 0) record?.drop();
    else record?.putBack();
    return { ...saved, stillBlockedBy: stillBlocking(known, directive) };
  } catch (error) {
    const { code, message } = failureOf(error, config.agent.dataDir);
    return refused(code, message);
  } finally {
    for (const { close } of opened) close();
  }
}

function openOne(config: Config, agent: string): OpenedState | Failure {
  const directory = path.join(config.agent.dataDir, agent);
  const state = openState({ directory, ...claimsOf(config, agent) });
  if (state.ok) {
    const close = () => {
      state.db.close();
      state.unlock();
    };
    return { agent, directory, directives: new DirectiveTable(state.db), close };
  }
  if (state.code !== 'locked') {
    return { code: state.code === 'full' ? 3 : 4, message: state.message };
  }
  return { code: 4, message: `${directory}: an agent starts, ends or does not answer; try again` };
}

/** One file is enough to revoke the directive: its agent announces it to the others. */
function save(
  directive: Directive,
  opened: readonly OpenedState[],
): Omit<TakenBack, 'stillBlockedBy'> {
  const agents: string[] = [];
  for (const { agent, directory, directives } of opened) {
    try {
      const at = wallMs();
      directives.saveDirective(directive, at);
      // Otherwise `complete` would stay the last event, although URLs may be queued again.
      directives.recordEvent(directive, at);
    } catch (error) {
      return { agents, failure: failureOf(error, directory) };
    }
    agents.push(agent);
  }
  return { agents, failure: null };
}

function failureOf(error: unknown, directory: string): Failure {
  const failure = storageFailureOf(error, directory);
  if (failure === null) return cannotWrite(`in ${directory}`, error);
  return { code: failure.code === 'full' ? 3 : 4, message: failure.message };
}

function stillBlocking(known: readonly Directive[], takenBack: Directive): string | undefined {
  if (takenBack.kind !== 'block') return undefined;
  return asAgents([...known, takenBack]).above(takenBack)?.host;
}

/** The pattern of the directive in force that blocks the host; null: none does. */
export function blockOf(config: Config, host: string): string | null {
  const { states } = storedDirectives(config);
  const known = latestOf([...states.values()].flat());
  return asAgents(known).above({ kind: 'block', host })?.host ?? null;
}

/** Applies the same rules as the agents. */
function asAgents(known: readonly Directive[]): Directives {
  const noChange = () => {};
  const store = { directives: () => [...known], saveDirective: noChange, dropDirective: noChange };
  return new Directives({ id: '', delayMs: () => 0, digest: (text) => text, store });
}
