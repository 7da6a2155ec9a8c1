// `ubiring agent`: runs one agent in the foreground, for example on a machine of its own, after a
// crash, or to join late. docs/COMMANDS.md describes its signals.

import path from 'node:path';
import { type Config, membersOf } from '../../../config/config.ts';
import { markRepair } from '../../storage/file/database.ts';
import { type ExitCode, Refusal } from '../common/exit-code.ts';
import {
  allKnown,
  type CommonFlags,
  launchCommand,
  load,
  type ResolvedConfig,
  withEndpoints,
} from '../common/load-config.ts';
import { say } from '../common/output.ts';
import { warnOfPrivateSeeds } from '../common/private-seeds.ts';
import { isLocked } from '../common/running.ts';
import { checkedCompletion } from '../state-files/completion-check.ts';
import { awayAtEnd, awayText, removeCompletion } from '../state-files/completion-file.ts';
import { openWork } from '../state-files/left-out.ts';
import { openWorkText } from '../state-files/left-out-text.ts';
import { otherCrawlOf } from '../state-files/other-crawl.ts';
import { judgePorts } from './agent-ports.ts';
import { type AgentStart, runAgent } from './agent-run.ts';
import { type NewAgentFlags, noteNewAgent, withNewAgent } from './new-agent.ts';
import { ProcessSignals } from './process-signals.ts';
import { type Repair, repairOf } from './repair.ts';

export async function agentCommand(
  file: string,
  flags: CommonFlags &
    NewAgentFlags & {
      readonly id: string;
      readonly refresh?: number;
      readonly repair?: boolean;
    },
): Promise<ExitCode> {
  const { id, refresh, repair = false } = flags;
  if (repair && refresh !== undefined) {
    say('--repair restores pages that --refresh would request again: give only one of them');
    return 2;
  }
  const signals = new ProcessSignals(false);
  const read = load(file, flags, { warn: true });
  if (!read.ok) return read.code;
  const loaded = withNewAgent(read.config, id, flags);
  if (!loaded.ok) return loaded.code;
  warnOfPrivateSeeds(loaded.config);
  const known = membersOf(loaded.config).map((member) => member.id);
  if (loaded.config.cluster.contacts.length > 0 && !known.includes(id)) {
    say(`${id} is not in ${loaded.config.file}, and has not run here: add --listen ENDPOINT`);
    return 2;
  }
  if (!allKnown([id], loaded.config, known)) return 2;
  const directory = path.join(loaded.config.agent.dataDir, id);
  const other = otherCrawlOf(loaded.config, isLocked(directory) ? [id] : []);
  if (other !== null) throw new Refusal(4, other);
  // Checked before ports are allocated, so that a refused start changes nothing.
  const taken = await portTaken(loaded.config, id);
  if (taken !== null) {
    say(taken);
    return 5;
  }
  // If `cluster.agents` is a number, the first process allocates the ports.
  const resolved = await withEndpoints(loaded.config, { allocate: true });
  if (!resolved.ok) return resolved.code;
  const { config } = resolved;
  const start: AgentStart = { config, id, refresh };
  noteNewAgent(config);
  if (refresh !== undefined) return runAgent(start, { signals, launched: false });
  const past = await pastEnd(config, id, repair);
  if (!past.ok) {
    say(past.message);
    return 4;
  }
  // Only a warning: the other agents may be started next.
  const open = past.isComplete ? [] : openWork(config.agent.dataDir, config.name, [id]);
  if (open.length > 0) say(openWorkText(config, open));
  const { awaits, completedBy } = past;
  return runAgent({ ...start, awaits, completedBy }, { signals, launched: false });
}

/** Why the agent cannot use its allocated port; null if it can, runs already, or has none. */
async function portTaken(config: Config, id: string): Promise<string | null> {
  if (typeof config.cluster.agents !== 'number') return null;
  if (isLocked(path.join(config.agent.dataDir, id))) return null;
  const ports = await judgePorts(config, [id]);
  if (!ports.ok) return ports.message;
  if (ports.taken.length === 0) return null;
  const remedy = `end that, or let launch assign ${id} another port:\n  ${launchCommand(config)}`;
  return `${ports.taken.join('\n')}; ${remedy}`;
}

/** How an agent of an earlier crawl starts. */
interface Past {
  readonly ok: true;
  /** The crawl is over, and the states of its members hold all that was found. */
  readonly isComplete: boolean;
  readonly awaits: readonly string[];
  readonly completedBy?: readonly string[];
}

/**
 * Deletes the completion record if the state files no longer match it, or if --repair was given.
 * The agent must then meet the agents that completed the crawl before it crawls: they have the
 * copies.
 */
async function pastEnd(
  config: ResolvedConfig,
  id: string,
  asked: boolean,
): Promise<Extract<Repair, { ok: false }> | Past> {
  const directory = path.join(config.agent.dataDir, id);
  if (asked) markRepair(directory);
  const completion = checkedCompletion(config, [id]);
  const ids = config.cluster.agents.map((agent) => agent.id);
  const repair = repairOf(config, completion, { ids, local: ids, asked });
  if (!repair.ok) return repair;
  if (completion.kind === 'complete' && !asked) {
    const away = awayAtEnd(config, completion.note);
    if (away.length === 0) return { ok: true, isComplete: true, awaits: [] };
    say(`${id}: ${awayText(away)}`);
    return { ok: true, isComplete: true, awaits: [], completedBy: completion.note.agents };
  }
  if (!('note' in completion)) return { ok: true, isComplete: false, awaits: [] };
  if (completion.kind === 'changed' && completion.isSetBack) markRepair(directory);
  const changes = completion.kind === 'changed' ? ['the crawl continues:', ...completion.why] : [];
  const awaits = completion.note.agents.filter((agent) => agent !== id && ids.includes(agent));
  for (const note of [...changes, ...repair.notes]) say(note);
  if (awaits.length > 0) say(`${id}: waits for ${awaits.join(', ')}, which must be started, too`);
  removeCompletion(config);
  return { ok: true, isComplete: false, awaits };
}
