// Helpers that the scripted cases share: running clusters, and the messages sent in them.

import type { AgentId, Message } from '../../agent/core/protocol/messages.ts';
import { Cluster } from './cluster.ts';
import { chainWeb } from './webs.ts';

const SEEDS = ['http://h0.test/p0'];

export function cluster(ids: readonly AgentId[], more = {}, hosts = 40, pages = 30): Cluster {
  return new Cluster({ ids, web: chainWeb(hosts, pages), seeds: SEEDS, ...more });
}

export function crawling(ids: readonly AgentId[], more = {}): Cluster {
  const c = cluster(ids, more);
  c.startAll();
  c.runUntil('the crawl is running', () => c.log.length >= 60);
  return c;
}

export function inc(c: Cluster, id: AgentId): number {
  return c.snapshot(id).incarnation;
}

/** Why the agent took another incarnation, each time. */
export function rejoinsOf(c: Cluster, id: AgentId): unknown[] {
  const rejoins = c.snapshot(id).recent.filter(({ kind }) => kind === 'rejoin');
  return rejoins.map(({ detail }) => detail.why);
}

export function endCodes(c: Cluster): (number | undefined)[] {
  return [...c.agents.values()].map((a) => a.end?.code);
}

/** An agent joins, receives its hosts and leaves again. */
export function joinAndLeave(c: Cluster, id: AgentId): void {
  c.start(id);
  const isIn = () => c.snapshot(id).joined && c.snapshot(id).handOff.awaited === 0;
  c.runUntil(`${id} has its hosts`, isIn, 10_000);
  const agent = c.agents.get(id)!;
  agent.inputs.push(() => agent.core.leave(c.instant(id)));
  c.runUntil(`${id} has left`, () => agent.end !== null, 40_000);
}

export function heartbeats(c: Cluster, from: AgentId, since: number) {
  return c.sent.flatMap((s) =>
    s.from === from && s.at > since && s.message.type === 'HEARTBEAT' ? [s.message] : [],
  );
}

export function sentOf<T extends Message['type']>(c: Cluster, type: T, since = 0) {
  return c.sent.filter((s) => s.at > since && s.message.type === type);
}

/** A bad network. */
export const NOISY = { loss: 0.1, duplicate: 0.05, slow: 0.1, slowMs: 250 };
