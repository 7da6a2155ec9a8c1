// Builds the part of an agent that shares the crawl with other networks (`dedup.mode: redis`), with a
// connection to the Redis of each network. Nothing of it is loaded otherwise.

import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { sharedSettingsOf } from '../../config/fingerprint.ts';
import type { Incarnation } from '../core/protocol/messages.ts';
import { isListening } from '../messaging/listener.ts';
import type { SharedNetworks } from '../networks/client/shared-networks.ts';
import type { Pools } from '../networks/pools.ts';
import type { NetworkFailure } from '../networks/redis/network-failure.ts';
import { randomId } from '../runtime/random.ts';
import { turnSlice } from '../runtime/timed-slice.ts';
import type { SqliteStore } from '../storage/sqlite-store.ts';
import { splitIdentity } from '../url/url-key.ts';
import { seedsOf } from './config-parts.ts';

/** An error names the network, the server and what to do. */
export type Connected =
  | { readonly ok: true; readonly networks: NetworkConnections | null }
  | { readonly ok: false; readonly message: string };

export interface NetworkConnections {
  /** Called once, when the store is open. */
  build(parts: NetworkWiring): SharedNetworks;
  close(): void;
  /** Instead of `close` if the start ends here: nothing is left in Redis. */
  leave(): Promise<void>;
}

export interface NetworkWiring {
  readonly agent: string;
  readonly inc: Incarnation;
  readonly store: SqliteStore;
  readonly members: () => { readonly agents: readonly string[]; readonly isPartial: boolean };
  /** A call to Redis has ended: a turn is due. */
  readonly wake: () => void;
  readonly log: Logger;
}

/**
 * Connects to the Redis of every network. The agent does not start if its own one refuses it, which
 * only a person can change. A Redis that is away is connected to when it is back.
 *
 * @param starting - agents that start now, so they cannot be met
 */
export async function connectNetworks(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  starting: readonly string[],
): Promise<Connected> {
  const { dedup, name } = config;
  if (dedup.mode === 'none' || dedup.network === null) return { ok: true, networks: null };
  const { Announcement } = await import('../networks/redis/announcement.ts');
  const { openPools } = await import('../networks/redis/open-pools.ts');
  const { SharedNetworks } = await import('../networks/client/shared-networks.ts');
  const { network, timeoutMs, onTimeout, batch, leaseMs } = dedup;
  const pools = new Map<string, Awaited<ReturnType<typeof openPools>>['pools']>();
  let isClosed = false;
  const close = () => {
    isClosed = true;
    for (const one of pools.values()) one.close();
  };
  const home = `${hostname()}:${config.agent.dataDir}`;
  let announcement: InstanceType<typeof Announcement> | null = null;
  // A server that is away forgets the settings by itself.
  const leave = async () => {
    await announcement?.withdraw().catch(() => {});
    close();
  };
  try {
    const shared = { crawl: name, timeoutMs, settings: sharedSettingsOf(config) };
    const ready = new Map<string, Promise<void>>();
    for (const [other, url] of Object.entries(dedup.networks)) {
      const opened = await openPools({ ...shared, network: other, url, home, environment });
      pools.set(other, opened.pools);
      ready.set(other, opened.ready);
    }
    announcement = new Announcement(pools.get(network)!, randomId(), () => {
      return mayJoin(config, starting);
    });
    const made = announcement;
    const compare = () => compareOthers(pools, ready, network);
    await compare();
    await ready
      .get(network)!
      .then(() => made.make(leaseMs))
      .catch(throwIfRefused);
    // This network has announced its settings. If two networks start at the same time, at least one of
    // them therefore reads those of the other.
    await compare();
  } catch (error) {
    await leave();
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
  const seeds = new Set(seedsOf(config).map(({ url }) => url)).size;
  const times = { onTimeout, timeoutMs, leaseMs };
  const settings = { network, networks: [...pools.keys()], seeds, batch, ...times };
  const build = ({ agent, inc, store, log, ...more }: NetworkWiring) =>
    new SharedNetworks({
      ...{ settings, agent, token: `${agent}.${inc}`, pools, store: store.networks!, ...more },
      onError: (error) => {
        // Calls without an answer fail when their connection is closed.
        if (isClosed) return;
        if (error instanceof Error && 'network' in error) log.warn(error.message);
        else log.warn({ err: error }, 'sharing the crawl with other networks failed');
      },
      ...{ slice: turnSlice(), sha256: (text) => hash('sha256', text, 'base64url') },
      decide: (identity, verdict) => store.decide(identity, verdict),
      hostOf: (identity) => splitIdentity(identity)?.host ?? null,
      warningOf: (other) => pools.get(other)?.link.warning ?? null,
      isConnected: (other) => pools.get(other)?.link.failure === null,
      serverRun: () => pools.get(network)!.link.serverRun,
    });
  return { ok: true, networks: { build, close, leave } };
}

/** Whether the agents can be of a cluster that runs: one has a state, or another agent answers. */
async function mayJoin({ agent, cluster }: Config, starting: readonly string[]): Promise<boolean> {
  // An agent with a state has been in this network: it waits for the others of its cluster.
  if (starting.some((id) => existsSync(join(agent.dataDir, id, 'state.sqlite')))) return true;
  const { agents, contacts } = cluster;
  const entries = typeof agents === 'number' ? [] : agents;
  const own = entries.filter(({ id }) => starting.includes(id)).map(({ address }) => address);
  const all = [...entries.map(({ address }) => address), ...contacts];
  const others = [...new Set(all)].filter((address) => !own.includes(address));
  return (await Promise.all(others.map(isListening))).includes(true);
}

/** @throws a NetworkFailure if another network runs with other settings */
async function compareOthers(
  pools: ReadonlyMap<string, Pools>,
  ready: ReadonlyMap<string, Promise<void>>,
  network: string,
): Promise<void> {
  for (const [other, isReady] of ready) {
    if (other === network) continue;
    const isThere = await isReady.then(
      () => true,
      () => false,
    );
    if (isThere) await pools.get(other)!.presence().catch(throwIfRefused);
  }
}

function throwIfRefused(failure: NetworkFailure): void {
  if (failure.code === 'refused') throw failure;
}
