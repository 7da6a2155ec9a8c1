// Real agents on the Kademlia overlay, and what they use. Each server waits before it answers, so an
// agent waits more than it computes, and several agents on one machine do not take its processor from
// each other. All traffic stays on loopback.

import fs from 'node:fs';
import path from 'node:path';
import { Threads } from '../agent/frontier/schedule/threads.ts';
import type { Cluster } from '../test/chaos/harness.ts';
import { withCluster } from './cluster-run.ts';
import type { KademliaGiven } from './kademlia-part.ts';
import { freePorts } from './ports.ts';

/** Duration of each answer. */
export const answerMs = 250;
const heartbeatMs = 500;
const suspectAfterMs = 5000;
/** Ticks of the processor time in /proc, a second: the same on all Linux systems of today. */
const ticksPerSecond = 100;

export interface RealOptions {
  readonly agents: number;
  readonly threads: number;
  /** Pages that the crawl must not run out of. */
  readonly pages: number;
  readonly hosts: number;
  readonly seed: number;
}

/** A cluster that finds itself through its first agent. No agent is started. */
export async function withOverlay<T>(
  { ids, neighbourhood, bucket: bucketSize, backups }: KademliaGiven,
  { agents, threads, pages, hosts, seed }: RealOptions,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const ports = await freePorts(agents);
  const listeners = ports.map((port) => ({ listen: `tcp://127.0.0.1:${port}` }));
  const [first] = listeners;
  const cluster = {
    overlay: 'kademlia',
    agents: listeners.map((listener, k) => ({ id: `a${k + 1}`, ...listener })),
    contacts: first ? [first.listen] : [],
    backups: Math.min(backups, agents - 1),
    failureDetector: { heartbeatMs, suspectAfterMs },
    kademlia: { ids, neighbourhood, bucketSize },
  };
  const web = { seed, hosts, pages: Math.ceil(pages / hosts), answerMs };
  const options = { agents, threads, web, listeners, delayMs: 0, heartbeatMs, suspectAfterMs };
  return withCluster({ ...options, config: { cluster } }, use);
}

/** Pages per second of an agent whose threads are always held by requests. */
export function rateMost(threads: number): number {
  return (1000 * threads) / Math.min(answerMs, new Threads(threads).youngMs);
}

/** Complete answers so far, without those for robots.txt. */
export function pageEnds(cluster: Cluster): number[] {
  const pages = cluster.web.requests().filter((one) => one.path !== '/robots.txt');
  return pages.map(({ endMs }) => endMs);
}

/** Processor milliseconds of an agent's process since its start; NaN if there is no /proc. */
export function cpuMsOf(cluster: Cluster, id: string): number {
  try {
    const pid = Number(fs.readFileSync(path.join(cluster.dataDir, id, 'agent.pid'), 'utf8'));
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may contain anything. The state follows, and so on.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1000;
  } catch {
    return Number.NaN;
  }
}

/** Processor milliseconds of all running agents together. */
export function cpuMsOfAll(cluster: Cluster): number {
  return cluster.living().reduce((sum, id) => sum + cpuMsOf(cluster, id), 0);
}
