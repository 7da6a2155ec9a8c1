// The command line, environment and stdin with which `launch` starts an agent. They set options
// that shorten the start and reduce memory, and that a process cannot set for itself. An agent
// started by hand runs without them.

import { getCompileCacheDir } from 'node:module';
import path from 'node:path';
import type { AgentStart } from './agent-run.ts';
import { inputOf } from './start-input.ts';

/** Has the extension of this file: `.ts` in a checkout, `.js` in the package. */
const program = path.join(
  import.meta.dirname,
  `launched-agent${path.extname(import.meta.filename)}`,
);

/**
 * Size in MiB of each half of V8's young generation, in the main thread. V8's default uses 100 MiB
 * more memory and saves no CPU time. In a crawl of 20,000 pages, collections pause the thread for
 * 0.81 s in total at 8 MiB and for 0.56 s at 16 MiB.
 */
const semiSpaceMiB = 16;
/** Arenas of glibc's malloc. With its default, 40 MiB more of freed memory is kept. */
const mallocArenas = '2';

/** Arguments of Node, environment and stdin of a process to start. */
export interface AgentProgram {
  readonly line: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly input: string;
}

export function agentProgram(start: AgentStart): AgentProgram {
  const { config, id } = start;
  // The program ignores these arguments: they only identify the agent in a list of processes.
  const shown = ['agent', config.file, '--id', id, '--data', config.agent.dataDir];
  return {
    line: [...agentFlags(), program, ...shown],
    env: agentEnvironment(),
    input: inputOf(start),
  };
}

/** Flags for Node. Those of this process come last and take precedence. */
export function agentFlags(): string[] {
  const option = '--max-semi-space-size';
  // Node also accepts underscores in the names of options.
  const isChosen = process.env.NODE_OPTIONS?.replaceAll('_', '-').includes(option) ?? false;
  return [...(isChosen ? [] : [`${option}=${semiSpaceMiB}`]), ...process.execArgv];
}

/**
 * The environment of an agent. It enables Node's compile cache, if this process uses it. Set in the
 * environment, the cache also serves the first files of the program and the parsing
 * thread.
 */
export function agentEnvironment(): NodeJS.ProcessEnv {
  const environment = { MALLOC_ARENA_MAX: mallocArenas, ...process.env };
  const directory = getCompileCacheDir();
  if (directory === undefined) return environment;
  // Node appends a folder for its version.
  return { ...environment, NODE_COMPILE_CACHE: path.dirname(directory) };
}
