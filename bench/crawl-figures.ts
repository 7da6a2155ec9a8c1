// The figures of a crawl by a cluster: what the probe of each agent reports, added up and divided
// by the pages. Pure, except for reading the report of a probe.

import fs from 'node:fs';
import type { Sent } from '../agent/messaging/traffic.ts';
import type { ProbeReport } from './probe.ts';
import type { Counts } from './probe-counts.ts';

export interface CrawlFigures {
  readonly pages: number;
  readonly seconds: number;
  /** Of all agents together, from the moment when each began to take part. */
  readonly crawlCpuMs: number;
  readonly agents: readonly ProbeReport[];
  readonly load: number;
}

export function readProbe(file: string): ProbeReport {
  return JSON.parse(fs.readFileSync(file, 'utf8')) as ProbeReport;
}

/** Processor milliseconds per page, all agents together. */
export function cpuPerPage({ crawlCpuMs, pages }: CrawlFigures): number {
  return crawlCpuMs / pages;
}

/** Messages and bytes that all agents sent, by type. */
export function sentBy(agents: readonly ProbeReport[]): Map<string, Sent> {
  const sums = new Map<string, Sent>();
  for (const [type, { messages, bytes }] of agents.flatMap(({ sent }) => Object.entries(sent))) {
    const sum = sums.get(type) ?? { messages: 0, bytes: 0 };
    sums.set(type, { messages: sum.messages + messages, bytes: sum.bytes + bytes });
  }
  return sums;
}

/** The cost of a page, in counts that hardly depend on the speed of the machine. */
export interface PageCost extends Counts {
  /** Without heartbeats, which depend on time and not on pages. */
  readonly messages: number;
  readonly bytes: number;
}

/**
 * All agents together.
 *
 * @throws if the crawl did not count
 */
export function costPerPage({ agents, pages }: CrawlFigures): PageCost {
  const counts = agents.map((agent) => {
    if (agent.counts === null) throw new Error('the crawl did not count');
    return agent.counts;
  });
  const sent = [...sentBy(agents)].filter(([type]) => type !== 'HEARTBEAT');
  const sums = sumByName<keyof Counts>(counts);
  const perPage = Object.fromEntries(Array.from(sums, ([name, sum]) => [name, sum / pages]));
  return {
    ...(perPage as unknown as Counts),
    messages: sent.reduce((s, [, { messages }]) => s + messages, 0) / pages,
    bytes: sent.reduce((s, [, { bytes }]) => s + bytes, 0) / pages,
  };
}

/** The sum of figures by name, of all agents. */
export function sumByName<Name extends string>(
  all: readonly Readonly<Partial<Record<Name, number>>>[],
): Map<Name, number> {
  const sums = new Map<Name, number>();
  for (const [name, value] of all.flatMap((one) => Object.entries(one))) {
    sums.set(name as Name, (sums.get(name as Name) ?? 0) + Number(value));
  }
  return sums;
}
