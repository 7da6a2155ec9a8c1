// `ubiring agent`: one agent in this process, in the foreground. By hand it is one machine of a
// cluster, a restart or a late joiner. What the signals mean is in CONTRACT.

import path from 'node:path';
import { markSuspect } from '../storage/database.ts';
import { type AgentStart, runAgent } from './agent-run.ts';
import { checkedCompletion } from './completion-check.ts';
import { removeCompletion } from './completion-file.ts';
import type { ExitCode } from './exit-code.ts';
import { openWork } from './left-out.ts';
import { openWorkText } from './left-out-text.ts';
import { allKnown, type CommonFlags, loadResolved, type ResolvedConfig } from './load.ts';
import { Orders } from './orders.ts';
import { say } from './output.ts';
import { warnOfPrivateSeeds } from './private-seeds.ts';
import { type Repair, repairOf } from './repair.ts';

export async function agentCommand(
  file: string,
  flags: CommonFlags & {
    readonly id: string;
    readonly refresh?: number;
    readonly repair?: boolean;
  },
): Promise<ExitCode> {
  const { id, refresh, repair = false } = flags;
  if (repair && refresh !== undefined) {
    say('--repair restores what --refresh asks for again: give one of them');
    return 2;
  }
  const orders = new Orders(false);
  // The ports of numbered agents are found by whoever comes first, so an agent may be that.
  const loaded = await loadResolved(file, flags, { allocate: true, warn: true });
  if (!loaded.ok) return loaded.code;
  const { config } = loaded;
  warnOfPrivateSeeds(config);
  if (!allKnown([id], config)) return 2;
  const start: AgentStart = { config, id, refresh };
  if (refresh !== undefined) return runAgent(start, { orders, launched: false });
  const past = await pastEnd(config, id, repair);
  if (!past.ok) {
    say(past.message);
    return 4;
  }
  sayOpenWork(config, id);
  return runAgent({ ...start, awaits: past.awaits }, { orders, launched: false });
}

/** Warns only: the other agents may be about to be started. */
function sayOpenWork(config: ResolvedConfig, id: string): void {
  const open = openWork(config.agent.dataDir, config.name, [id]);
  if (open.length > 0) say(openWorkText(config, open));
}

/**
 * Deletes the completion record where it is no longer true, because a state file is missing, damaged
 * or another one. The agents that were there at the end must then be met: they have the copies.
 */
async function pastEnd(
  config: ResolvedConfig,
  id: string,
  asked: boolean,
): Promise<Extract<Repair, { ok: false }> | { readonly ok: true; readonly awaits: string[] }> {
  const directory = path.join(config.agent.dataDir, id);
  if (asked) markSuspect(directory);
  const completion = checkedCompletion(config, [id]);
  const ids = config.cluster.agents.map((agent) => agent.id);
  const repair = repairOf(config, completion, { ids, local: ids, asked });
  if (!repair.ok) return repair;
  const isOver = completion.kind === 'complete' && !asked;
  if (isOver || !('note' in completion)) return { ok: true, awaits: [] };
  const changes = completion.kind === 'changed' ? ['the crawl goes on:', ...completion.why] : [];
  const awaits = completion.note.agents.filter((agent) => agent !== id && ids.includes(agent));
  for (const note of [...changes, ...repair.notes]) say(note);
  if (awaits.length > 0) say(`${id}: waits for ${awaits.join(', ')}, which must be started, too`);
  removeCompletion(config);
  return { ok: true, awaits };
}
