// From the words of a command line to a config: what every command does first. A config that is
// wrong is reported with all its problems on stderr, and the command then ends with 4.

import path from 'node:path';
import type { AgentEntry, Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { type PortsProblemCode, resolveAgents } from '../../config/ports.ts';
import { formatProblems } from '../../config/problem.ts';
import { cannotWrite, type ExitCode } from './exit-code.ts';
import { makeDirectory } from './make-directory.ts';
import { say, styled } from './output.ts';

/** Flags that every command has. */
export interface CommonFlags {
  /** Data directory, relative to the caller's; wins over the config's. */
  readonly data?: string;
}

/** A config whose agents all have endpoints. */
export interface ResolvedConfig extends Config {
  readonly cluster: Config['cluster'] & { readonly agents: readonly AgentEntry[] };
}

export type LoadResult<C> =
  | { readonly ok: true; readonly config: C }
  | { readonly ok: false; readonly code: ExitCode };

/** Loads a config, or says what is wrong with it. */
export function load(
  file: string,
  flags: CommonFlags,
  options: { readonly warn?: boolean } = {},
): LoadResult<Config> {
  const loaded = loadConfig(file, { cwd: process.cwd(), dataDir: flags.data });
  if (!loaded.ok) {
    say(formatProblems(loaded.problems));
    return { ok: false, code: 4 };
  }
  if (options.warn) {
    for (const warning of loaded.warnings) {
      say(`${styled('yellow', 'warning:', process.stderr)} ${warning}`);
    }
  }
  return { ok: true, config: loaded.config };
}

/** As `load`, with the endpoints of numbered agents. `allocate`: finds ports for those without. */
export async function loadResolved(
  file: string,
  flags: CommonFlags,
  options: { readonly allocate: boolean; readonly warn?: boolean },
): Promise<LoadResult<ResolvedConfig>> {
  const loaded = load(file, flags, options);
  if (!loaded.ok) return loaded;
  const { config } = loaded;
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
  const resolved = await resolveAgents(config, options);
  if (!resolved.ok) {
    say(resolved.message);
    return { ok: false, code: codeOf(resolved.code) };
  }
  const { agents } = resolved;
  return { ok: true, config: { ...config, cluster: { ...config.cluster, agents } } };
}

/** Where nothing was launched yet, nothing is wrong: there is nobody to ask. */
function codeOf(code: PortsProblemCode): ExitCode {
  if (code === 'data-dir-full') return 3;
  return code === 'cluster-not-launched' ? 1 : 4;
}

/** Says so where some of `ids` are no agents of the config. */
export function allKnown(ids: readonly string[], config: ResolvedConfig): boolean {
  const known = config.cluster.agents.map(({ id }) => id);
  const unknown = ids.filter((id) => !known.includes(id));
  if (unknown.length === 0) return true;
  say(`no agent ${unknown.join(', ')} in ${config.file}; it has ${known.join(', ')}`);
  return false;
}

/** The config's path as a person would type it. */
export function shownPath(config: Config): string {
  const relative = path.relative(process.cwd(), config.file);
  const shown = relative.startsWith('..') ? config.file : relative;
  return /^[\w./@:+-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
