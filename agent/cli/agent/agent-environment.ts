// How `launch` starts the process of an agent: with what keeps its start short and its memory small,
// none of which a process can switch on for itself. An agent started by hand runs without it, unless
// its environment says the same. The benchmarks start agents by it, too.

import { getCompileCacheDir } from 'node:module';
import path from 'node:path';
import type { AgentStart } from './agent-run.ts';
import { inputOf } from './start-input.ts';

/** `.ts` in a checkout, `.js` in the package. */
const program = path.join(
  import.meta.dirname,
  `launched-agent${path.extname(import.meta.filename)}`,
);

/**
 * MiB of each half of V8's young generation, in the main thread. By default V8 takes 100 MiB more
 * memory and saves no processor time. With 8 MiB and the client got, collections pause the thread
 * for 0.81 s in 20,000 pages; with 16 MiB for 0.56 s.
 */
const semiSpaceMiB = 16;
/** Of glibc's malloc. One for each thread, its default, keeps 40 MiB more that nobody uses. */
const mallocArenas = '2';

/** A process to start: what Node is called with, in which environment, and what it reads on stdin. */
export interface AgentProgram {
  readonly line: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** By `start-input.ts`. */
  readonly input: string;
}

export function agentProgram(start: AgentStart): AgentProgram {
  const { config, id } = start;
  const words = ['agent', config.file, '--id', id];
  return {
    // The words behind the program are for people who look at the processes.
    line: [...agentFlags(), program, ...words, '--data', config.agent.dataDir],
    env: agentEnvironment(),
    input: inputOf(start),
  };
}

/** Flags of Node; those of this process come after them, and win. */
export function agentFlags(): string[] {
  const option = '--max-semi-space-size';
  // Node takes underscores as well.
  const isChosen = process.env.NODE_OPTIONS?.replaceAll('_', '-').includes(option) ?? false;
  return [...(isChosen ? [] : [`${option}=${semiSpaceMiB}`]), ...process.execArgv];
}

/**
 * With the cache of compiled code: what `main.ts` switches on by itself comes too late for its own
 * first files and for all of the parsing thread; from the environment it holds for these as well.
 * Where it was switched off for this process it stays so.
 */
export function agentEnvironment(): NodeJS.ProcessEnv {
  const environment = { MALLOC_ARENA_MAX: mallocArenas, ...process.env };
  const directory = getCompileCacheDir();
  if (directory === undefined) return environment;
  // Node adds a folder for its version by itself.
  return { ...environment, NODE_COMPILE_CACHE: path.dirname(directory) };
}
