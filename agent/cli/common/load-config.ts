// From the words of a command line to a config: what every command does first. A config that is
// wrong is reported with all its problems on stderr, and the command then ends with 4.

import path from 'node:path';
import type { AgentEntry, Config } from '../../../config/config.ts';
import { loadConfig } from '../../../config/file/load.ts';
import { type PortsProblemCode, resolveAgents } from '../../../config/file/ports.ts';
import { formatProblems } from '../../../config/file/problem.ts';
import type { Asked } from './ask.ts';
import { caller } from './caller.ts';
import { cannotWrite, type ExitCode } from './exit-code.ts';
import { makeDirectory } from './make-directory.ts';
import { programName, say, styled } from './output.ts';
import { isLocked } from './running.ts';
import { strangersOf } from './strangers.ts';

/** Flags that every command has. */
export interface CommonFlags {
  /** Data directory, relative to the caller's; wins over the config's. */
  readonly data?: string;
}

/** A config whose agents have endpoints. */
export interface ResolvedConfig extends Config {
  readonly cluster: Config['cluster'] & { readonly agents: readonly AgentEntry[] };
  /** Agents of the config that were never started and have no port yet. */
  readonly unplaced: readonly string[];
  /** Agents that run in the data directory and that the config does not have, or not any more. */
  readonly strangers: readonly AgentEntry[];
}

interface LoadOptions {
  /** Whether warnings are said. */
  readonly warn?: boolean;
  /** For commands that read or stop a crawl: only what names its agents and its data is needed. */
  readonly part?: boolean;
}

export type LoadResult<C> =
  | { readonly ok: true; readonly config: C }
  | { readonly ok: false; readonly code: ExitCode };

/** Loads a config, or says what is wrong with it. */
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
    for (const warning of loaded.warnings) {
      say(`${styled('yellow', 'warning:', caller().stderr)} ${warning}`);
    }
  }
  const { ignored, config } = loaded;
  if (ignored.length > 0) {
    const shown = shownPath(config);
    const where = `problems in parts of ${shown} that this command does not need`;
    say(`${where}: ${ignored.length} (${programName()} config check ${shown})`);
  }
  return { ok: true, config };
}

/** As `load`, with the endpoints of the agents. */
export async function loadResolved(
  file: string,
  flags: CommonFlags,
  options: LoadOptions & { readonly allocate: boolean },
): Promise<LoadResult<ResolvedConfig>> {
  const loaded = load(file, flags, options);
  return loaded.ok ? withEndpoints(loaded.config, options) : loaded;
}

/**
 * The config with the endpoints of its agents. `allocate`: finds ports for those without, and others
 * for those that are `moving`.
 */
export async function withEndpoints(
  config: Config,
  options: { readonly allocate: boolean; readonly moving?: readonly string[] | undefined },
): Promise<LoadResult<ResolvedConfig>> {
  const { dataDir } = config.agent;
  // The ports of numbered agents are kept there.
  if (options.allocate && typeof config.cluster.agents === 'number') {
    try {
      makeDirectory(dataDir);
    } catch (error) {
      const { code, message } = cannotWrite(`in ${dataDir}`, error);
      say(message);
      return { ok: false, code };
    }
  }
  const { allocate, moving } = options;
  const resolved = await resolveAgents(config, { allocate, isRunning: isLocked, moving });
  if (!resolved.ok) {
    say(resolved.message);
    if (resolved.code === 'cluster-not-launched') say(`to start them:\n  ${launchCommand(config)}`);
    return { ok: false, code: codeOf(resolved.code) };
  }
  const { agents, unplaced } = resolved;
  for (const id of unplaced) say(neverStarted(id, config));
  const strangers = allocate ? [] : strangersOf(config);
  const cluster = { ...config.cluster, agents };
  return { ok: true, config: { ...config, unplaced, strangers, cluster } };
}

/** Where nothing was launched yet, nothing is wrong: there is nobody to ask. */
function codeOf(code: PortsProblemCode): ExitCode {
  if (code === 'data-dir-full') return 3;
  return code === 'cluster-not-launched' ? 1 : 4;
}

function neverStarted(id: string, config: Config): string {
  return `${id} was never started; to add it to the crawl: ${startCommand(id, config)}`;
}

export function launchCommand(config: Config): string {
  return `${programName()} launch ${shownCrawl(config)}`;
}

export function startCommand(id: string, config: Config): string {
  return `${programName()} agent ${shownCrawl(config)} --id ${id}`;
}

/** The agents that a command can be put to: those of the config that have an endpoint, and strangers. */
export function reachable({ cluster, strangers }: ResolvedConfig): readonly AgentEntry[] {
  return [...cluster.agents, ...strangers];
}

/** As a command is put to them. */
export function asked(config: ResolvedConfig): Asked {
  return { agents: reachable(config), crawl: config.name, dataDir: config.agent.dataDir };
}

/**
 * Says so where some of `ids` are not known.
 *
 * @param agents - those that are, with repeats
 */
export function allKnown(
  ids: readonly string[],
  config: Config,
  agents: readonly string[],
): boolean {
  const known = [...new Set(agents)];
  const unknown = ids.filter((id) => !known.includes(id));
  if (unknown.length === 0) return true;
  say(`no agent ${unknown.join(', ')} in ${config.file}; it has ${known.join(', ')}`);
  return false;
}

/** Agents of the config, and those that run beside them. */
export function placedIn(config: ResolvedConfig): readonly string[] {
  return [...reachable(config).map(({ id }) => id), ...config.unplaced];
}

/** The config's path as a person would type it. */
export function shownPath(config: Config): string {
  const relative = path.relative(process.cwd(), config.file);
  return shellWord(relative.startsWith('..') ? config.file : relative);
}

/** The text as one word of a shell's command line. */
function shellWord(text: string): string {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The crawl as the words of a command name it: the config, and the data directory if one was given. */
export function shownCrawl(config: Config): string {
  const given = caller().argv.some((word) => word === '--data' || word.startsWith('--data='));
  return given
    ? `${shownPath(config)} --data ${shellWord(config.agent.dataDir)}`
    : shownPath(config);
}
