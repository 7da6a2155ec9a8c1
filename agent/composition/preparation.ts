// Prepares the start of an agent: finds its entry in the config, opens its state file, and connects it
// to other networks.

import { join } from 'node:path';
import type { Logger } from 'pino';
import type { AgentEntry, Config } from '../../config/config.ts';
import { judgeClock } from '../monitor/start-clock.ts';
import { wallMs } from '../runtime/clock.ts';
import { openState } from '../storage/file/database.ts';
import { claimsOf } from './config-parts.ts';
import { type CreateFetcher, loadClient } from './fetching.ts';
import { connectNetworks, type NetworkConnections } from './network-parts.ts';

export interface Prepared {
  readonly entry: AgentEntry;
  readonly agents: readonly AgentEntry[];
  readonly createFetcher: CreateFetcher;
  readonly directory: string;
  readonly state: Extract<ReturnType<typeof openState>, { ok: true }>;
  /** Null: the crawl is not shared. */
  readonly networks: NetworkConnections | null;
}

type Preparation =
  | ({ readonly ok: true } & Prepared)
  | { readonly ok: false; readonly code: 3 | 4 | 5; readonly message: string };

export async function prepare(config: Config, id: string, log: Logger): Promise<Preparation> {
  const { agents, contacts, backups } = config.cluster;
  if (typeof agents === 'number') {
    throw new Error('the ports of numbered agents must be resolved before an agent is started');
  }
  const entry = agents.find((agent) => agent.id === id);
  if (!entry) {
    const known = agents.map((agent) => agent.id).join(', ');
    return { ok: false, code: 4, message: `no agent '${id}' in the config; it has ${known}` };
  }
  const createFetcher = await loadClient(config);
  const directory = join(config.agent.dataDir, id);
  const clock = judgeClock(directory, wallMs());
  if (clock.verdict === 'ahead') return { ok: false, code: 4, message: clock.message };
  if (clock.verdict === 'behind') log.warn(clock.message);
  const connected = await connectNetworks(config, process.env, [id]);
  if (!connected.ok) return { ok: false, code: 5, message: connected.message };
  const { networks } = connected;
  const quarantineAt = backups > 0 && agents.length + contacts.length > 1 ? wallMs() : undefined;
  const state = openState({
    directory,
    ...claimsOf(config, id),
    quarantineAt,
  });
  if (!state.ok) {
    await networks?.leave();
    return { ok: false, code: state.code === 'full' ? 3 : 4, message: state.message };
  }
  if (state.notice) log.warn(state.notice);
  return { ok: true, entry, agents, createFetcher, directory, state, networks };
}
