// `ubiring stop`: with identifiers, these agents leave and the others take their hosts over; without,
// all settle what they can and end, to be launched again later. The order goes to one agent, which
// passes it on; what each said is printed, since an order that did nothing must not look like one
// that worked.

import path from 'node:path';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import { askFirst, askInTurn } from '../common/ask.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { startingEnded } from '../common/launch-lock.ts';
import {
  allKnown,
  asked,
  type CommonFlags,
  loadResolved,
  placedIn,
  type ResolvedConfig,
  reachable,
  shownCrawl,
} from '../common/load-config.ts';
import { print, programName, say } from '../common/output.ts';
import { isLocked } from '../common/running.ts';

/** @param ids - agents that are to leave; none: all are to stop */
export async function stop(
  file: string,
  ids: readonly string[],
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  const verb = ids.length > 0 ? 'leave' : 'stop';
  await startingEnded(loaded.config.agent.dataDir);
  const known = placedIn(loaded.config);
  const met = ids.every((id) => known.includes(id)) ? [] : await membersMet(loaded.config);
  if (!allKnown(ids, loaded.config, [...placedIn(loaded.config), ...met])) return 2;
  const answer = await askInTurn(asked(loaded.config), verb, ids);
  if (!answer.ok) {
    say(answer.failures.join('\n'));
    say(unanswered(loaded.config));
    return 1;
  }
  const result = answer.result as Record<string, string>;
  if (ids.length === 0) await stopTheOthers(loaded.config, result);
  const said = Object.entries(result);
  if (flags.json) await print(`${JSON.stringify(result)}\n`);
  else await print(said.map(([id, what]) => `${id}: ${what}\n`).join(''));
  return said.every(([, what]) => what === 'applied') ? 0 : 1;
}

/** Whom the agents that run have in view: an agent elsewhere may be of a config that has more agents. */
async function membersMet(config: ResolvedConfig): Promise<readonly string[]> {
  const answer = await askFirst(asked(config), 'status');
  if (!answer.ok) return [];
  const { agents } = answer.result as { readonly agents: readonly AgentStatus[] };
  return agents.flatMap(({ members }) => members.map(({ id }) => id));
}

/** Agents that run here and have not met the one that took the order do not get it from that one. */
async function stopTheOthers(config: ResolvedConfig, said: Record<string, string>): Promise<void> {
  const { dataDir } = config.agent;
  for (const agent of reachable(config)) {
    const { id } = agent;
    if (said[id] === 'applied' || !isLocked(path.join(dataDir, id))) continue;
    const answer = await askInTurn({ ...asked(config), agents: [agent] }, 'stop', []);
    const result = answer.ok ? (answer.result as Record<string, string>) : {};
    said[id] = result[id] ?? 'unreachable';
  }
}

function unanswered(config: ResolvedConfig): string {
  const ids = reachable(config).map(({ id }) => id);
  const running = ids.filter((id) => isLocked(path.join(config.agent.dataDir, id)));
  if (running.length === 0) return 'no agent answers: on this machine there is nothing to stop';
  return [
    `no agent answers, though ${running.join(', ')} of this machine did not end; to end at once:`,
    `  ${programName()} kill ${shownCrawl(config)} ${running.join(' ')}`,
  ].join('\n');
}
