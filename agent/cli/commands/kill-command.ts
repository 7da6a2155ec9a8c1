// `ubiring kill`: sends SIGKILL to agents of this machine, for example to watch the others take
// over. It signals a process only if the process is certainly the agent.

import path from 'node:path';
import { permissionMissing } from '../../storage/file/storage-failure.ts';
import { type ExitCode, messageOf, Refusal, systemCode } from '../common/exit-code.ts';
import { allKnown, type CommonFlags, loadResolved } from '../common/load-config.ts';
import { printResults } from '../common/output.ts';
import { runningAgent } from '../common/running.ts';
import { otherCrawlOf } from '../state-files/other-crawl.ts';
import { nameable } from './known-agents.ts';

/** Exits with 1 if an agent could not be killed. */
export async function kill(
  file: string,
  ids: readonly string[],
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  if (!allKnown(ids, loaded.config, nameable(loaded.config))) return 2;
  const other = otherCrawlOf(loaded.config, ids);
  if (other !== null) throw new Refusal(4, other);
  const { dataDir } = loaded.config.agent;
  const results = ids.map((id) => [id, killAgent(path.join(dataDir, id))] as const);
  const code = results.every(([, result]) => result === 'killed') ? 0 : 1;
  await printResults(results, flags.json, code);
  return code;
}

function killAgent(directory: string): string {
  const running = runningAgent(directory);
  if (running.kind === 'absent') return 'does not run on this machine';
  if (running.kind === 'unclear') return running.message;
  try {
    process.kill(running.pid, 'SIGKILL');
    return 'killed';
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ESRCH') return 'has just ended';
    if (code === 'EPERM') return permissionMissing(`/proc/${running.pid}`);
    return `cannot be killed: ${messageOf(error)}`;
  }
}
