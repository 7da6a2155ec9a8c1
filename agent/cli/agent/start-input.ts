// What an agent reads on stdin when a launch starts it, from both ends: the config that the launch has
// read and checked, as JSON, and which agent this is. Without the seeds, which the agent puts together
// again: there may be a million of them, and a launch would hold them once for each agent.

import type { ConfigProblem } from '../../../config/file/problem.ts';
import { readSeedFile } from '../../../config/file/seed-file.ts';
import type { AgentStart } from './agent-run.ts';

type Sent = Omit<AgentStart, 'config'> & { readonly config: Omit<AgentStart['config'], 'seeds'> };

export function inputOf({ config, ...rest }: AgentStart): string {
  const { seeds: _, ...sent } = config;
  return JSON.stringify({ config: sent, ...rest } satisfies Sent);
}

/**
 * @returns the start, or what has become wrong with the seed files since the launch read them
 * @throws where `input` is none of `inputOf`
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
