// An agent that is not in the config (`ubiring agent CONFIG --id ID --listen ENDPOINT`): it joins
// through the contacts of the overlay kademlia. Its options are checked as the entries of
// `cluster.agents` are. At a restart, its endpoint is the one that it recorded.

import fs from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import type { AgentEntry, Config } from '../../../config/config.ts';
import { recordedEndpoint } from '../../../config/file/ports.ts';
import { identifiersOfAgentMax } from '../../../config/file/rules.ts';
import { agentCapacity } from '../../../config/keys/cluster-keys.ts';
import { agentId, listenEndpoint, peerEndpoint } from '../../../config/keys/leaves.ts';
import { isWildcard, parseEndpoint } from '../../../config/values/agent-endpoint.ts';
import { isListed, type LoadResult, type ResolvedConfig } from '../common/load-config.ts';
import { say } from '../common/output.ts';
import { openStateFile } from '../common/query-files.ts';
import { isLocked } from '../common/running.ts';
import { historyOf, keepsAddresses } from '../state-files/query-members.ts';

/** The options of a new agent, as written. */
export interface NewAgentFlags {
  readonly listen?: string;
  readonly address?: string;
  readonly capacity?: string;
}

type Checked =
  | { readonly ok: true; readonly entry: AgentEntry }
  | { readonly ok: false; readonly why: string };

/**
 * The config with the agent, or the config itself if no option is given. Prints what is wrong with
 * the options, if anything is.
 */
export function withNewAgent(config: Config, id: string, flags: NewAgentFlags): LoadResult<Config> {
  const { address, capacity } = flags;
  const listen = flags.listen ?? (address === undefined ? earlierEndpoint(config, id) : undefined);
  if (listen === undefined) {
    const lone = address !== undefined ? '--address' : capacity !== undefined && '--capacity';
    if (!lone) return { ok: true, config };
    say(`${lone} needs --listen: the config has the values of its agents`);
    return { ok: false, code: 2 };
  }
  const { agents } = config.cluster;
  const checked = checkedEntry(config, id, { ...flags, listen });
  if (!checked.ok) {
    say(checked.why);
    return { ok: false, code: 2 };
  }
  const others = typeof agents === 'number' ? [] : agents;
  const cluster = { ...config.cluster, agents: [...others, checked.entry] };
  return { ok: true, config: { ...config, added: id, cluster } };
}

/**
 * Says that an agent that is not in the config needs a contact to join, unless its state has other
 * addresses, and whether it is started with another capacity. Nothing if it runs already.
 */
export function noteNewAgent({ added, agent, cluster }: ResolvedConfig): void {
  const entry = cluster.agents.find(({ id }) => id === added);
  if (entry === undefined) return;
  const { id, address, capacity } = entry;
  const directory = path.join(agent.dataDir, id);
  if (isLocked(directory)) return;
  const file = path.join(directory, 'state.sqlite');
  const state = fs.existsSync(file) ? openStateFile(id, file) : null;
  // Its start reports that the state cannot be read.
  if (typeof state === 'string') return;
  const before = state && historyOf(state).capacities.get(id);
  const isKnown = state !== null && keepsAddresses(state);
  state?.close();
  if (!isKnown && !cluster.contacts.includes(address)) {
    say(`${id}: joins when one of ${cluster.contacts.join(', ')} answers`);
  }
  if (before == null || before === capacity) return;
  say(`${id}: its capacity was ${before} and is ${capacity}, so hosts move; --capacity changes it`);
}

/** The endpoint at which an agent that is not in the config ran before. */
function earlierEndpoint(config: Config, id: string): string | undefined {
  if (config.cluster.contacts.length === 0 || isListed(config, id)) return undefined;
  if (!agentId.safeParse(id).success) return undefined;
  return recordedEndpoint(path.join(config.agent.dataDir, id)) ?? undefined;
}

function checkedEntry(
  { cluster }: Config,
  id: string,
  flags: NewAgentFlags & { readonly listen: string },
): Checked {
  const { listen, address = listen } = flags;
  if (cluster.contacts.length === 0) {
    return no('--listen needs cluster.contacts in the config (with cluster.overlay: kademlia)');
  }
  if (typeof cluster.agents !== 'number' && cluster.agents.some((agent) => agent.id === id)) {
    return no(`agent ${id} is in the config, which has its endpoint: leave out --listen`);
  }
  const name = agentId.safeParse(id);
  if (!name.success) return no(`--id ${id}: ${wrongIn(name.error)}`);
  const bound = listenEndpoint.safeParse(listen);
  if (!bound.success) return no(`--listen ${listen}: ${wrongIn(bound.error)}`);
  if (flags.address === undefined && isWildcard(parseEndpoint(listen)!)) {
    const why = 'all interfaces, so peers do not know where to connect';
    const { port } = parseEndpoint(listen)!;
    return no(`--listen ${listen}: ${why}; add for example --address tcp://10.0.0.5:${port}`);
  }
  const peer = peerEndpoint.safeParse(address);
  if (!peer.success) return no(`--address ${address}: ${wrongIn(peer.error)}`);
  const share = agentCapacity.safeParse(Number(flags.capacity ?? 1));
  if (!share.success) return no(`--capacity ${flags.capacity}: must be above 0, up to 1000`);
  const capacity = share.data;
  const most = identifiersOfAgentMax / cluster.kademlia.ids;
  if (capacity > most)
    return no(`--capacity ${capacity}: with cluster.kademlia.ids, up to ${most}`);
  return { ok: true, entry: { id, listen, address, capacity } };
}

/** What is wrong with a value, and what to write. */
function wrongIn({ issues: [issue] }: z.ZodError): string {
  const remedy = issue?.code === 'custom' ? issue.params?.remedy : undefined;
  return [issue!.message, ...(typeof remedy === 'string' ? [remedy] : [])].join('; ');
}

function no(why: string): Checked {
  return { ok: false, why };
}
