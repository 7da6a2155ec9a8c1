// The agents of a crawl as a command can know them: those of the config and, if agents may join
// through contacts, those that run. Names that a command is given, and the agents of a config that
// lists none, are also looked up in the data directory: in its state files, and in the record of a
// complete crawl.

import { type Config, type ConfiguredMember, membersOf } from '../../../config/config.ts';
import { Refusal } from '../common/exit-code.ts';
import { allKnown, asked, askedOf, placedIn, type ResolvedConfig } from '../common/load-config.ts';
import { say } from '../common/output.ts';
import { walk } from '../common/walk.ts';
import { askStatus } from '../remote/ask-status.ts';
import { readCompletion } from '../state-files/completion-file.ts';
import { openFilesOf } from '../state-files/other-crawl.ts';
import { lastView } from '../state-files/query-members.ts';
import { ownersOf } from '../state-files/query-owners.ts';
import type { ClusterStatus } from '../status/status-command.ts';

/**
 * The agents of the config and, if it has contacts, others that run.
 *
 * @throws Refusal if it has only contacts, no agent answers, and the data directory has no state
 */
export async function agentsOf(config: Config): Promise<readonly ConfiguredMember[]> {
  const { agents, contacts } = config.cluster;
  const members = membersOf(config);
  if (contacts.length === 0) return members;
  const listed = typeof agents === 'number' ? [] : agents;
  const { visited } = await walk(askedOf(config, listed), { verb: 'status', args: [] });
  const isNew = ({ id }: ConfiguredMember) => !members.some((member) => member.id === id);
  const others = [...visited.values()].filter(isNew).map(({ id, capacity }) => ({ id, capacity }));
  if (visited.size > 0) return [...members, ...others];
  if (members.length > 0) {
    say('no agent answers: only the agents that the config lists are counted');
    return members;
  }
  const { dataDir } = config.agent;
  const stored = lastMembers(config);
  if (stored.length === 0) {
    const why = `the config lists no agents, no contact answers, and ${dataDir} has no state`;
    throw new Refusal(4, `${why}; start an agent, or name another directory with --data`);
  }
  say(`no agent answers: the last agents known to ${dataDir} are counted`);
  return stored;
}

/** The agents that a command may name. */
export function nameable(config: ResolvedConfig): readonly string[] {
  if (config.cluster.contacts.length === 0) return placedIn(config);
  return [...placedIn(config), ...lastMembers(config).map(({ id }) => id)];
}

/** Prints a message and returns false if no agent can have one of the identifiers. */
export async function mayBeTold(ids: readonly string[], config: ResolvedConfig): Promise<boolean> {
  const areAmong = (known: readonly string[]) => ids.every((id) => known.includes(id));
  const placed = placedIn(config);
  if (areAmong(placed)) return true;
  const met = await membersOfRunning(config);
  // Agents of other machines may have joined. Whether one has, only an agent that answers knows.
  const mayBeElsewhere = config.cluster.contacts.length > 0 && met.length === 0;
  if (mayBeElsewhere || areAmong([...placed, ...met])) return true;
  // Last, since the data directory may hold another crawl, which is refused.
  return allKnown(ids, config, [...nameable(config), ...met]);
}

/** Members of the running agents. The config of an agent on another machine may name more agents. */
async function membersOfRunning(config: ResolvedConfig): Promise<readonly string[]> {
  if (config.cluster.overlay === 'kademlia') {
    const { visited, unreachable } = await walk(asked(config), { verb: 'status', args: [] });
    return [...visited.keys(), ...unreachable];
  }
  const answer = await askStatus(config);
  if (!answer.ok) return [];
  const { agents } = answer.result as Pick<ClusterStatus, 'agents'>;
  return agents.flatMap(({ members }) => members.map(({ id }) => id));
}

/** The agents last in view, and those that completed the crawl. */
function lastMembers(config: Config): readonly ConfiguredMember[] {
  const { files } = openFilesOf(config, [], [], false);
  try {
    const completion = readCompletion(config);
    const atEnd = completion.kind === 'complete' ? completion.note.agents : [];
    if (files.length === 0) return atEnd.map((id) => ({ id, capacity: 1 }));
    const { histories } = ownersOf(files, config);
    const { view, capacities } = lastView(histories, config.cluster.overlay);
    const ids = [...new Set([...view, ...atEnd])].sort();
    return ids.map((id) => ({ id, capacity: capacities.get(id) ?? 1 }));
  } finally {
    for (const file of files) file.close();
  }
}
