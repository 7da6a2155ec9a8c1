// `ubiring pause`, `block`, `drain` and so on: directives to the whole running cluster. One
// agent stores the directive and forwards it, and the result of each agent is printed. An agent
// that was not reached obeys as soon as it hears from another one, and a new agent before its first
// request; the command exits with 1 if an agent was not reached. A directive that no running agent has
// is taken back in the state files.

import type { AgentEntry } from '../../../config/config.ts';
import { identifiersOfAgentMax } from '../../../config/file/rules.ts';
import { parseHostPattern } from '../../../config/values/host.ts';
import { parseDuration } from '../../../config/values/quantity.ts';
import { isOfAgents, nothingToEnd } from '../../core/protocol/directives.ts';
import type { ControlVerb, Directive } from '../../core/protocol/messages.ts';
import { DELAY_MS_MAX } from '../../messaging/checks/limits.ts';
import { isRecord } from '../../messaging/checks/shape.ts';
import {
  type DirectiveSummary,
  directiveOf,
  directiveSummary,
  TAKEN_BACK,
} from '../../messaging/control-directives.ts';
import { askInTurn, type ClusterAnswer, isOfEnded } from '../common/ask.ts';
import { caller } from '../common/caller.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { startingEnded } from '../common/launch-lock.ts';
import {
  asked,
  type CommonFlags,
  launchCommand,
  load,
  loadResolved,
  type ResolvedConfig,
  reachable,
} from '../common/load-config.ts';
import { hostOf } from '../common/named-host.ts';
import { count, printResults, say } from '../common/output.ts';
import { lockedAgents, noAnswerText } from '../common/running.ts';
import { walk } from '../common/walk.ts';
import { askLeft } from '../remote/left-agents.ts';
import { completionKind } from '../state-files/completion-check.ts';
import { refuseOtherCrawl } from '../state-files/other-crawl.ts';
import {
  directivesInForce,
  holdersOf,
  inForceInstead,
  mayBeInForce,
  takeBack,
} from '../state-files/stored-directives.ts';
import { mayBeTold } from './known-agents.ts';

/** In place of an agent's identifier, and of a number. */
const [ALL_AGENTS, FROM_CONFIG] = ['all', 'default'] as const;

const NONE_ACCEPTED = 'no agent accepted the directive';

export type DirectiveFlags = CommonFlags & { readonly json?: boolean; readonly off?: boolean };

/** Stops new requests until `resume`. Open requests finish; the crawl does not end meanwhile. */
export function pause(file: string, flags: DirectiveFlags): Promise<ExitCode> {
  return give(file, 'pause', [], flags);
}

export function resume(file: string, flags: DirectiveFlags): Promise<ExitCode> {
  return give(file, 'resume', [], flags);
}

/** Stops requests to the hosts and skips their queues; `off` undoes both. */
export async function block(file: string, text: string, flags: DirectiveFlags): Promise<ExitCode> {
  const pattern = patternOf(text);
  if (pattern === null) return 2;
  return give(file, 'block', flags.off ? [pattern, TAKEN_BACK] : [pattern], flags);
}

/** Sets a politeness delay for the hosts; `off` restores the config's delay. */
export async function delay(
  file: string,
  text: string,
  delayText: string | undefined,
  flags: DirectiveFlags,
): Promise<ExitCode> {
  const pattern = patternOf(text);
  if (pattern === null) return 2;
  if ((delayText === undefined) === (flags.off !== true)) {
    say('give either a delay, in milliseconds or as in a config (2s), or --off');
    return 2;
  }
  if (delayText === undefined) return give(file, 'delay', [pattern, TAKEN_BACK], flags);
  const delayMs = /^\d{1,12}$/.test(delayText) ? Number(delayText) : parseDuration(delayText);
  if (delayMs === null || delayMs > DELAY_MS_MAX) {
    say(`${JSON.stringify(delayText)} is not a delay; write 500, 500ms, 2s or 1m, at most 24h`);
    return 2;
  }
  return give(file, 'delay', [pattern, String(delayMs)], flags);
}

/** Sets the number of threads of an agent, or of all; `default` restores that of the config. */
export async function threads(
  file: string,
  agent: string,
  number: string,
  flags: DirectiveFlags,
): Promise<ExitCode> {
  if (agent === '*') {
    say(`no agent is called "*"; write ${ALL_AGENTS} for all agents`);
    return 2;
  }
  return giveOfAgent(file, 'threads', agent === ALL_AGENTS ? '*' : agent, number, flags);
}

/** The agent hands over its hosts and takes no others; it stays a member. */
export function drain(file: string, agent: string, flags: DirectiveFlags): Promise<ExitCode> {
  return giveOfAgent(file, 'drain', agent, '', flags);
}

export function undrain(file: string, agent: string, flags: DirectiveFlags): Promise<ExitCode> {
  return giveOfAgent(file, 'undrain', agent, '', flags);
}

/** Sets the relative share of the hosts of an agent; `default` restores that of the config. */
export async function capacity(
  file: string,
  agent: string,
  number: string,
  flags: DirectiveFlags,
): Promise<ExitCode> {
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded.code;
  const { overlay, kademlia } = loaded.config.cluster;
  const most = overlay === 'kademlia' ? identifiersOfAgentMax / kademlia.ids : Infinity;
  if (Number(number) > most) {
    say(`capacity ${number} is too large for cluster.kademlia.ids; write at most ${most}`);
    return 2;
  }
  return giveOfAgent(file, 'capacity', agent, number, flags);
}

async function giveOfAgent(
  file: string,
  verb: ControlVerb,
  agent: string,
  number: string,
  flags: DirectiveFlags,
): Promise<ExitCode> {
  const args = [agent, ...(number === '' ? [] : [number === FROM_CONFIG ? TAKEN_BACK : number])];
  const what = directiveOf(verb, args);
  if (typeof what !== 'string') return give(file, verb, args, flags);
  say(what);
  return 2;
}

/** A host pattern, or the host of a URL. */
function patternOf(text: string): string | null {
  const pattern = parseHostPattern(text) ?? (text.includes('*') ? null : hostOf(text));
  if (pattern === null) {
    const forms = 'a host, "*.host" for its subdomains, "*", or an http or https URL';
    say(`${JSON.stringify(text)} names no hosts; write ${forms}`);
  }
  return pattern;
}

/**
 * Exits with 0 if every agent of the config that has not left and every other member has the
 * directive on disk, and no other block holds.
 */
async function give(
  file: string,
  verb: ControlVerb,
  args: readonly string[],
  flags: DirectiveFlags,
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  const agents = reachable(loaded.config);
  await startingEnded(loaded.config.agent.dataDir);
  const what = directiveOf(verb, args);
  const canExist = async () => typeof what === 'string' || (await mayExist(loaded.config, what));
  const { overlay } = loaded.config.cluster;
  const ended = typeof what !== 'string' && what.value === null ? what : null;
  // On the ring, each agent knows the others, and refuses the directive itself. One that is taken back
  // may be in force at agents of other machines.
  if (overlay === 'kademlia' && ended === null && !(await canExist())) return 2;
  const answer = await giveAll(loaded.config, verb, args);
  if (!answer.ok) {
    if (!(await canExist())) return 2;
    caller().heard.isRefused = answer.isRefused === true;
    return ended === null
      ? notGiven(loaded.config, answer)
      : takenBackHere(loaded.config, ended, answer, flags);
  }
  const summary = answer.result as DirectiveSummary;
  const unreachable = Object.fromEntries(agents.map(({ id }) => [id, 'unreachable']));
  const all: Record<string, string> = { ...unreachable, ...summary.agents };
  // An agent that has left needs no receipt: it gets the directives if it joins again.
  const silent = Object.keys(all).filter((id) => all[id] === 'unreachable');
  for (const id of await askLeft(loaded.config, silent)) delete all[id];
  const missing = Object.keys(all).filter((id) => all[id] !== 'applied');
  const isBlocked = isHostVerb(verb) && summary.stillBlockedBy !== undefined;
  const code = missing.length === 0 && !isBlocked ? 0 : 1;
  await printResults(Object.entries(all), flags.json, code);
  sayReceipt(loaded.config, all);
  if (missing.length > 0) say(`${missing.join(', ')}: will obey after contact with another agent`);
  if (isHostVerb(verb)) sayOfHosts(args, summary);
  else sayOfAgent(args, all);
  return code;
}

type NoAgent = Extract<ClusterAnswer, { readonly ok: false }>;

/** Says why no agent has accepted the directive. */
function notGiven(config: ResolvedConfig, { failures, isRefused = false }: NoAgent): ExitCode {
  sayFailures(config, failures);
  if (!isRefused && completionKind(config, []) === 'complete') {
    const again = launchCommand(config, ' --refresh');
    say(`no agent is left to obey: the crawl is complete; to request its pages again: ${again}`);
    return 1;
  }
  say(...failures.filter(isOfEnded));
  const remedy =
    unansweredText(config, failures) ?? `start the crawl with ${launchCommand(config)}`;
  say(`${NONE_ACCEPTED}${isRefused ? '' : `; ${remedy}`}`);
  return 1;
}

/** Takes the directive back in the state files that have it, or says why it is not taken back. */
async function takenBackHere(
  config: ResolvedConfig,
  what: Pick<Directive, 'kind' | 'host'>,
  { failures }: NoAgent,
  flags: DirectiveFlags,
): Promise<ExitCode> {
  const nothing = nothingToEnd(what);
  const others = failures.filter((failure) => !failure.endsWith(nothing));
  sayFailures(config, others);
  say(...others.filter(isOfEnded));
  const isRunning = others.length < failures.length;
  if (!mayBeInForce(config, what) && !others.every(isOfEnded)) {
    const which = isRunning ? 'those that answer do not have it' : 'none answers';
    const why = `${which}, and no state in ${config.agent.dataDir} has it`;
    const remedy = unansweredText(config, others) ?? 'start the agents that do not run';
    const lines = [`${NONE_ACCEPTED}: ${why}; ${remedy}`, ...inForceInstead(config, what)];
    say(lines.join('\n'));
    return 1;
  }
  const holders = holdersOf(config, what);
  return giveStored(config, what, flags, isRunning && holders.length > 0 ? holders : null);
}

/** What to do about agents of this machine that run and do not answer; null: there are none. */
function unansweredText(
  { agent, cluster }: ResolvedConfig,
  failures: readonly string[],
): string | null {
  const silent = cluster.agents.filter(({ id }) =>
    failures.some((why) => why.startsWith(`${id}: `)),
  );
  const locked = lockedAgents(agent.dataDir, silent);
  return locked.length === 0 ? null : noAnswerText(locked);
}

/** First, because agents of other machines may run that this one does not reach. */
function sayFailures(config: ResolvedConfig, failures: readonly string[]): void {
  say(...failures.filter((failure) => !isOfEnded(failure)));
  refuseOtherCrawl(config);
}

/**
 * Prints a message and returns false if the directive names an agent that cannot exist. With the
 * overlay kademlia and contacts the agents are not known, and a directive in force may be taken back
 * for an agent that the config no longer lists: then it returns true.
 */
async function mayExist(
  config: ResolvedConfig,
  what: Pick<Directive, 'kind' | 'host' | 'value'>,
): Promise<boolean> {
  if (!isOfAgents(what) || what.host === '*') return true;
  if (what.value === null && mayBeInForce(config, what)) return true;
  const { overlay, contacts } = config.cluster;
  return (overlay === 'kademlia' && contacts.length > 0) || mayBeTold([what.host], config);
}

/** Gives the directive to one agent, which forwards it; with the overlay kademlia, to all by a walk. */
export async function giveAll(
  config: ResolvedConfig,
  verb: ControlVerb,
  args: readonly string[],
): Promise<ClusterAnswer> {
  if (config.cluster.overlay === 'ring') return askInTurn(asked(config), verb, args);
  const isReadable = (result: unknown) =>
    isRecord(result) &&
    typeof result.said === 'string' &&
    ['string', 'undefined'].includes(typeof result.stillBlockedBy);
  const errand = { verb, args, isReadable };
  const { results, unreachable, failures, isRefused } = await walk(asked(config), errand);
  if (results.size === 0) return { ok: false, failures, isRefused };
  return { ok: true, by: '', result: directiveSummary(results, unreachable) };
}

/** Says how many agents have the directive, if the config does not list all agents. */
function sayReceipt({ cluster }: ResolvedConfig, all: Readonly<Record<string, string>>): void {
  if (cluster.overlay === 'ring') return;
  const ids = Object.keys(all);
  const having = count(ids.filter((id) => all[id] === 'applied').length);
  const of = count(ids.length);
  const isListed = cluster.agents.length > 0 && ids.every((id) => isIn(cluster.agents, id));
  const estimate = isListed ? '' : `; ${of} is an estimate: the config does not list all agents`;
  say(`${having} of ${of} agents have it${estimate}`);
}

function isIn(agents: readonly AgentEntry[], id: string): boolean {
  return agents.some((agent) => agent.id === id);
}

/**
 * Takes a directive back in state files.
 *
 * @param holders - the agents that have it, if others run, which do not; null: no agent runs
 */
async function giveStored(
  config: ResolvedConfig,
  what: Pick<Directive, 'kind' | 'host'>,
  flags: DirectiveFlags,
  holders: readonly string[] | null,
): Promise<ExitCode> {
  const { agents, failure, stillBlockedBy } = takeBack(config, what, holders ?? undefined);
  if (failure !== null && agents.length === 0) {
    // Nothing is in force: another attempt would end in the same way.
    if (failure.code === 1) caller().heard.isRefused = true;
    say(`${NONE_ACCEPTED}: ${failure.message}`);
    return failure.code;
  }
  const ids = holders ?? config.cluster.agents.map(({ id }) => id);
  const isApplied = (id: string) => agents.includes(id);
  const isEffective = ids.every(isApplied) && stillBlockedBy === undefined;
  const code = failure?.code ?? (isEffective ? 0 : 1);
  await printResults(
    ids.map((id) => [id, isApplied(id) ? 'applied' : 'unreachable'] as const),
    ...[flags.json, code],
  );
  if (failure !== null) say(failure.message);
  if (holders === null) {
    const isComplete = completionKind(config, []) === 'complete';
    const next = isComplete
      ? 'the crawl stays complete; to request its pages again'
      : 'to continue';
    say(`no agent of this data directory runs: the state files were changed; ${next}:`);
    say(`  ${launchCommand(config, isComplete ? ' --refresh' : '')}`);
  } else say(`only ${holders.join(', ')}, which does not run, had it: its state file was changed`);
  for (const line of directivesInForce(config)) say(line);
  if (stillBlockedBy !== undefined) sayStillBlocked(what.host, stillBlockedBy);
  return code;
}

/** Prints a message if no host is affected or a block stays in force. */
function sayOfHosts(
  [pattern = '', value]: readonly string[],
  { hosts, stillBlockedBy }: DirectiveSummary,
): void {
  if (stillBlockedBy !== undefined) return sayStillBlocked(pattern, stillBlockedBy);
  if (hosts > 0) return;
  const later = value === TAKEN_BACK ? '' : '; the directive applies to hosts found later';
  say(`no agent that answered knows a host that matches ${pattern}${later}`);
}

function isHostVerb(verb: ControlVerb): boolean {
  return verb === 'block' || verb === 'delay';
}

/** Prints a message if no agent that answered has the identifier. */
function sayOfAgent([id = '*']: readonly string[], all: Readonly<Record<string, string>>): void {
  if (id === '*' || all[id] !== undefined) return;
  caller().heard.absentAgent = id;
  say(`no agent that answered is ${id}`);
}

function sayStillBlocked(pattern: string, by: string): void {
  caller().heard.stillBlockedBy = by;
  say(`${pattern} is still blocked by ${by}: undo that block, too`);
}
