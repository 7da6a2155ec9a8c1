// Agents as `launch` starts them, for benchmarks that must be the parent of each process.

import path from 'node:path';
import { type AgentProgram, agentProgram } from '../agent/cli/agent/agent-environment.ts';
import type { ResolvedConfig } from '../agent/cli/common/load-config.ts';
import { loadConfig } from '../config/file/load.ts';
import { formatProblems } from '../config/file/problem.ts';

/**
 * @param file - a config that lists its agents
 * @throws if it does not
 */
export function readConfig(file: string): ResolvedConfig {
  const loaded = loadConfig(path.resolve(file), { cwd: path.dirname(file) });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  const { config } = loaded;
  const { agents } = config.cluster;
  if (typeof agents === 'number') throw new Error(`${file} does not list its agents`);
  return { ...config, unplaced: [], strangers: [], cluster: { ...config.cluster, agents } };
}

/** @returns the program with which `launch` would start that agent of the config */
export function launchedAgent(file: string, id: string): AgentProgram {
  return agentProgram({ config: readConfig(file), id });
}
