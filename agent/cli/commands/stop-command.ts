// `ubiring stop`: with identifiers, these agents leave and hand their hosts over; without, all agents
// settle what they can and exit, and a later launch continues. One agent receives the command and
// forwards it. The result of each agent is printed, so that a failure does not look like success.

import path from 'node:path';
import { askInTurn, type ClusterAnswer, isOfEnded } from '../common/ask.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { startingEnded } from '../common/launch-lock.ts';
import {
  asked,
  type CommonFlags,
  loadResolved,
  type ResolvedConfig,
  reachable,
  shownCrawl,
} from '../common/load-config.ts';
import { printResults, programName, say } from '../common/output.ts';
import { isLocked } from '../common/running.ts';
import { walk } from '../common/walk.ts';
import { askLeft } from '../remote/left-agents.ts';
import { completionKind } from '../state-files/completion-check.ts';
import { refuseOtherCrawl } from '../state-files/other-crawl.ts';
import { mayBeTold } from './known-agents.ts';

/** @param ids - agents that are to leave; if empty, all agents stop */
export async function stop(
  file: string,
  ids: readonly string[],
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  const verb = ids.length > 0 ? 'leave' : 'stop';
  await startingEnded(loaded.config.agent.dataDir);
  if (!(await mayBeTold(ids, loaded.config))) return 2;
  const isPartial = loaded.config.cluster.overlay === 'kademlia';
  // Nobody answers any more once all have stopped. The ring tells only its members.
  const before =
    isPartial && ids.length === 0 ? await askLeft(loaded.config, cluster(loaded.config)) : [];
  const answer = isPartial
    ? await stopWalking(loaded.config, verb, ids)
    : await askInTurn(asked(loaded.config), verb, ids);
  if (!answer.ok) {
    sayUnanswered(loaded.config, answer.failures);
    return 1;
  }
  const result = answer.result as Record<string, string>;
  if (ids.length === 0 && !isPartial) await stopOthers(loaded.config, result);
  const silent = ids.filter((id) => result[id] === 'unreachable');
  for (const id of [...before, ...(await askLeft(loaded.config, silent))]) {
    if (result[id] === 'unreachable') result[id] = 'left';
  }
  const hasEach = Object.values(result).every((said) => said === 'applied' || said === 'left');
  const code = hasEach ? 0 : 1;
  await printResults(Object.entries(result), flags.json, code);
  return code;
}

/** Stops agents that the first agent does not know, and so did not stop. */
async function stopOthers(config: ResolvedConfig, results: Record<string, string>): Promise<void> {
  const { dataDir } = config.agent;
  for (const agent of reachable(config)) {
    const { id } = agent;
    if (results[id] === 'applied') continue;
    // On the ring, an agent of another machine that is no member belongs to no crawl of this one.
    if (!isLocked(path.join(dataDir, id))) continue;
    const answer = await askInTurn({ ...asked(config), agents: [agent] }, 'stop', []);
    const result = answer.ok ? (answer.result as Record<string, string>) : {};
    for (const [member, said] of Object.entries(result)) {
      if (results[member] !== 'applied') results[member] = said;
    }
    results[id] ??= 'unreachable';
  }
}

/** Stops all agents, or tells the named ones to leave, from one agent to the next. */
async function stopWalking(
  config: ResolvedConfig,
  verb: 'leave' | 'stop',
  ids: readonly string[],
): Promise<ClusterAnswer> {
  const only = verb === 'leave' && { only: ids };
  const isReadable = (result: unknown) => typeof result === 'string';
  const walked = await walk(asked(config), { verb, args: ids, ...only, isReadable });
  if (walked.visited.size === 0) return { ok: false, failures: walked.failures };
  const concerned = ids.length > 0 ? ids : [...cluster(config), ...walked.unreachable];
  const unreachable = concerned.map((id) => [id, 'unreachable'] as const);
  return { ok: true, by: '', result: Object.fromEntries([...unreachable, ...walked.results]) };
}

/** The agents that the config lists and those that run in its data directory. */
function cluster(config: ResolvedConfig): readonly string[] {
  return reachable(config).map(({ id }) => id);
}

/** @param failures - a sentence for each agent */
function sayUnanswered(config: ResolvedConfig, failures: readonly string[]): void {
  const running = cluster(config).filter((id) => isLocked(path.join(config.agent.dataDir, id)));
  if (running.length > 0) {
    const kill = [
      `no agent answers, but ${running.join(', ')} still run on this machine; to end them at once:`,
      `  ${programName()} kill ${shownCrawl(config)} ${running.join(' ')}`,
    ].join('\n');
    say(...failures, kill);
    return;
  }
  // Agents of other machines may run that this one does not reach.
  say(...failures.filter((failure) => !isOfEnded(failure)));
  refuseOtherCrawl(config);
  const isComplete = completionKind(config, []) === 'complete';
  if (!isComplete) say(...failures.filter(isOfEnded));
  const why = isComplete ? 'the crawl is complete, and no agent' : 'no agent answers, and none';
  say(`${why} runs on this machine; there is nothing to stop`);
}
