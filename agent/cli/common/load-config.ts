// Loads the config that a command names. A command whose config is invalid prints all problems on
// stderr and exits with 4.

import path from 'node:path';
import { type AgentEntry, type Config, membersOf } from '../../../config/config.ts';
import { loadConfig } from '../../../config/file/load.ts';
import {
  type PortsProblemCode,
  recordedEndpoint,
  resolveAgents,
} from '../../../config/file/ports.ts';
import { formatProblems } from '../../../config/file/problem.ts';
import type { Asked } from './ask.ts';
import { caller } from './caller.ts';
import { cannotWrite, type ExitCode } from './exit-code.ts';
import { makeDirectory } from './make-directory.ts';
import { programName, say, warn } from './output.ts';
import { isLocked } from './running.ts';
import { strangersOf } from './strangers.ts';

/**
 * Set for a command that a server runs: `--data` is the directory of the server, whose user did not
 * name it.
 */
export const DATA_OF_CONFIG_VARIABLE = 'UBIRING_DATA_OF_CONFIG';

/** Options of every command. */
export interface CommonFlags {
  /** Data directory, relative to the working directory; overrides the config. */
  readonly data?: string;
}

/** A config whose agents have endpoints. */
export interface ResolvedConfig extends Config {
  readonly cluster: Config['cluster'] & { readonly agents: readonly AgentEntry[] };
  /** Agents of the config that have no port yet, because they were never started. */
  readonly unplaced: readonly string[];
  /** Agents that run in the data directory, but are not in the config. */
  readonly strangers: readonly AgentEntry[];
}

interface LoadOptions {
  /** Whether to print warnings. */
  readonly warn?: boolean;
  /** Checks only the keys that name agents and data, for commands that read or stop a crawl. */
  readonly part?: boolean;
}

export type LoadResult<C> =
  | { readonly ok: true; readonly config: C }
  | { readonly ok: false; readonly code: ExitCode };

/** Loads a config; prints its problems on failure. */
export function load(
  file: string,
  flags: CommonFlags,
  options: LoadOptions = {},
): LoadResult<Config> {
  const { part } = options;
  const loaded = loadConfig(file, { cwd: process.cwd(), dataDir: flags.data, part });
  if (!loaded.ok) {
    say(formatProblems(loaded.problems));
    return { ok: false, code: 4 };
  }
  if (options.warn) {
    for (const warning of loaded.warnings) warn(warning);
  }
  const { ignored } = loaded;
  // Part of the config, because other processes get it, and have other arguments.
  const isDataGiven =
    flags.data !== undefined && caller().env[DATA_OF_CONFIG_VARIABLE] === undefined;
  const config: Config = { ...loaded.config, isDataGiven };
  if (ignored.length > 0) {
    const shown = shownPath(config);
    const where = `problems in parts of ${shown} that this command does not need`;
    say(`${where}: ${ignored.length} (${programName()} config check ${shown})`);
  }
  return { ok: true, config };
}

/** Like `load`, with the endpoints of the agents. */
export async function loadResolved(
  file: string,
  flags: CommonFlags,
  options: LoadOptions & { readonly allocate: boolean },
): Promise<LoadResult<ResolvedConfig>> {
  const loaded = load(file, flags, options);
  return loaded.ok ? withEndpoints(loaded.config, options) : loaded;
}

/**
 * The config with the endpoints of its agents.
 *
 * @param allocate - whether to find ports for agents without one, and new ports for the agents in
 *   `moving`
 */
export async function withEndpoints(
  config: Config,
  {
    allocate,
    moving,
  }: { readonly allocate: boolean; readonly moving?: readonly string[] | undefined },
): Promise<LoadResult<ResolvedConfig>> {
  const { dataDir } = config.agent;
  // If the config only has a number of agents, their ports are stored in the data directory.
  if (allocate && typeof config.cluster.agents === 'number') {
    try {
      makeDirectory(dataDir);
    } catch (error) {
      const { code, message } = cannotWrite(`in ${dataDir}`, error);
      say(message);
      return { ok: false, code };
    }
  }
  const resolved = await resolveAgents(config, { allocate, isRunning: isLocked, moving });
  if (!resolved.ok) {
    say(resolved.message);
    if (resolved.code === 'cluster-not-launched') say(`to start them:\n  ${launchCommand(config)}`);
    return { ok: false, code: codeOf(resolved.code) };
  }
  const { agents, unplaced } = resolved;
  for (const id of unplaced) {
    say(`${id} was never started; to add it to the crawl: ${startCommand(id, config)}`);
  }
  const strangers = allocate ? [] : strangersOf(config);
  const cluster = { ...config.cluster, agents };
  return { ok: true, config: { ...config, unplaced, strangers, cluster } };
}

/** A cluster that was never launched is not a config error: it has no agent to ask. */
function codeOf(code: PortsProblemCode): ExitCode {
  if (code === 'data-dir-full') return 3;
  return code === 'cluster-not-launched' ? 1 : 4;
}

/** Starts all agents; if the config lists none, the command starts one, to be named by the user. */
export function launchCommand(config: Config, more = ''): string {
  if (isListed(config)) return `${programName()} launch ${shownCrawl(config)}${more}`;
  return `${programName()} agent ${shownCrawl(config)} --id ID --listen ENDPOINT${more}`;
}

/** The remedy if no agent has a state in the data directory: it is another one, or a launch is due. */
export function nameOrLaunch(config: Config): string {
  return `name another directory with --data, or start the crawl:\n  ${launchCommand(config)}`;
}

/** Starts an agent. One that is not in the config joins through contacts, with its endpoint. */
export function startCommand(id: string, config: Config): string {
  const start = `${programName()} agent ${shownCrawl(config)} --id ${id}`;
  if (config.cluster.contacts.length === 0 || isListed(config, id)) return start;
  const endpoint = recordedEndpoint(path.join(config.agent.dataDir, id));
  return `${start} --listen ${endpoint ?? 'ENDPOINT'}`;
}

/** Whether the config file lists the agent, or any agent, so that `launch` can start it. */
export function isListed(config: Config, id?: string): boolean {
  const listed = membersOf(config).filter((member) => member.id !== config.added);
  return listed.some((member) => id === undefined || member.id === id);
}

/** Agents that a command can ask: those of the config that have an endpoint, and strangers. */
export function reachable({ cluster, strangers }: ResolvedConfig): readonly AgentEntry[] {
  return [...cluster.agents, ...strangers];
}

/** Like `asked`, if only some of the config's agents have endpoints. */
export function askedOf(config: Config, agents: readonly AgentEntry[]): Asked {
  const cluster = { ...config.cluster, agents };
  return asked({ ...config, cluster, unplaced: [], strangers: strangersOf(config) });
}

/** The crawl and its agents as parameters of a request. A contact is named by its address. */
export function asked(config: ResolvedConfig): Asked {
  const agents = reachable(config);
  const contacts = config.cluster.contacts.flatMap((address): AgentEntry[] => {
    const isListed = agents.some((agent) => agent.address === address);
    return isListed ? [] : [{ id: address, listen: address, address, capacity: 1 }];
  });
  const { name, agent } = config;
  return { agents: [...agents, ...contacts], crawl: name, dataDir: agent.dataDir };
}

/**
 * Prints a message and returns false if an identifier is unknown.
 *
 * @param agents - the known agents; may have duplicates
 */
export function allKnown(
  ids: readonly string[],
  config: Config,
  agents: readonly string[],
): boolean {
  const known = [...new Set(agents)];
  const unknown = ids.filter((id) => !known.includes(id));
  if (unknown.length === 0) return true;
  const where = config.cluster.contacts.length === 0 ? '' : ` or ${config.agent.dataDir}`;
  const has = known.join(', ') || 'none';
  say(`no agent ${unknown.join(', ')} in ${config.file}${where}, known: ${has}; check the ID`);
  return false;
}

/** Identifiers of all agents of the config and of strangers. */
export function placedIn(config: ResolvedConfig): readonly string[] {
  return [...reachable(config).map(({ id }) => id), ...config.unplaced];
}

/** Path of the config, relative if it is below the working directory, quoted for a shell. */
export function shownPath(config: Config): string {
  const relative = path.relative(process.cwd(), config.file);
  return quoted(relative.startsWith('..') ? config.file : relative);
}

function quoted(text: string): string {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The arguments that name the crawl: the config, and the data directory if one was given. */
export function shownCrawl(config: Config): string {
  const { isDataGiven, agent } = config;
  return isDataGiven ? `${shownPath(config)} --data ${quoted(agent.dataDir)}` : shownPath(config);
}

/** The name of the crawl, for people; with that of the network if several share it. */
export function crawlTitle({ name, dedup }: Pick<Config, 'name' | 'dedup'>): string {
  return dedup.mode === 'none' ? name : `${name}, network ${dedup.network}`;
}
