// `ubiring kill`: SIGKILL to agents of this machine, for whoever wants to see the others take over.
// A signal goes to no process that is not surely the agent named.

import path from 'node:path';
import { type ExitCode, messageOf, Refusal } from '../common/exit-code.ts';
import { allKnown, type CommonFlags, loadResolved, placedIn } from '../common/load-config.ts';
import { print } from '../common/output.ts';
import { permissionMissing, runningAgent } from '../common/running.ts';
import { otherCrawlOf } from '../state-files/other-crawl.ts';

/** Ends with 1 where some of the agents could not be killed. */
export async function kill(
  file: string,
  ids: readonly string[],
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  if (!allKnown(ids, loaded.config, placedIn(loaded.config))) return 2;
  const other = otherCrawlOf(loaded.config, ids);
  if (other !== null) throw new Refusal(4, other);
  const said: [id: string, what: string][] = ids.map((id) => {
    return [id, killOne(path.join(loaded.config.agent.dataDir, id))];
  });
  if (flags.json) await print(`${JSON.stringify(Object.fromEntries(said))}\n`);
  else await print(said.map(([id, what]) => `${id}: ${what}\n`).join(''));
  return said.every(([, what]) => what === 'killed') ? 0 : 1;
}

function killOne(directory: string): string {
  const running = runningAgent(directory);
  if (running.kind === 'absent') return 'does not run on this machine';
  if (running.kind === 'unclear') return running.message;
  try {
    process.kill(running.pid, 'SIGKILL');
    return 'killed';
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ESRCH') return 'had just ended';
    if (code === 'EPERM') return permissionMissing(`/proc/${running.pid}`);
    return `cannot be killed: ${messageOf(error)}`;
  }
}
