// Writes and reads the stdin of an agent that a launch starts: as JSON, the config that the launch has
// checked, and which agent to run. The seeds are not sent, but read again from the seed files: there
// may be a million of them, and the launch would hold them once per agent.

import type { ConfigProblem } from '../../../config/file/problem.ts';
import { readSeedFile } from '../../../config/file/seed-file.ts';
import type { AgentStart } from './agent-run.ts';

type Sent = Omit<AgentStart, 'config'> & { readonly config: Omit<AgentStart['config'], 'seeds'> };

export function inputOf({ config, ...rest }: AgentStart): string {
  const { seeds: _, ...sent } = config;
  return JSON.stringify({ config: sent, ...rest } satisfies Sent);
}

/**
 * @returns the start, or the problems of seed files that changed after the launch read them
 * @throws SyntaxError or TypeError if `inputOf` did not write the input
 */
export function startOf(
  input: string,
):
  | { readonly ok: true; readonly start: AgentStart }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] } {
  const { config, ...rest } = JSON.parse(input) as Sent;
  let seeds = config.inlineSeeds;
  const problems: ConfigProblem[] = [];
  for (const file of config.seedFiles) {
    const read = readSeedFile(file);
    if (read.kind === 'read') {
      seeds = seeds.concat(read.seeds);
      problems.push(...read.problems);
    } else {
      const { message, remedy } = read;
      const at = { file, path: '', line: 0, column: 0 };
      problems.push({ code: 'config-unreadable', ...at, message, remedy });
    }
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, start: { ...rest, config: { ...config, seeds } } };
}
