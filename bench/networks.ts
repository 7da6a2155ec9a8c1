// Several networks that crawl one web (docs/NETWORKS.md), with their pools in a redis-server of this
// machine: the cost of a page with real agents, and the memory of the pools.
// node bench/networks.ts [--part cost,memory] [--networks 1,2] [--agents 1] [--pages 6000]
// [--hosts 60] [--batch 500] [--runs 3] [--digests 200000] [--json]

import { UsageError, whole, wholes } from './flags.ts';
import { cost } from './networks-cost.ts';
import { memory } from './networks-memory.ts';
import type { NetworksGiven, NetworksPart } from './networks-part.ts';
import { command, type Report } from './report.ts';

const flags = {
  /** Names of parts; all by default. */
  part: '',
  ...{ networks: wholes([1, 2], 1, 8), agents: whole(1, 1, 16), threads: whole(64, 1, 4096) },
  ...{ hosts: whole(60, 8, 254), pages: 6000, bytes: 20_500, runs: 3 },
  ...{ batch: whole(500, 1, 10_000), digests: 200_000 },
};

const parts: Readonly<Record<string, (given: NetworksGiven) => Promise<NetworksPart>>> = {
  cost,
  memory,
};

await command('networks', flags, async (given): Promise<Report> => {
  if (given.pages % given.hosts !== 0) {
    const { pages, hosts } = given;
    throw new UsageError(`--pages ${pages} --hosts ${hosts}: pages must be a multiple of hosts`);
  }
  const done: Record<string, NetworksPart> = {};
  for (const name of chosen(given.part)) {
    const part = await parts[name]?.(given);
    if (part !== undefined) done[name] = part;
  }
  const all = Object.values(done);
  return {
    tables: all.flatMap(({ tables }) => tables),
    remarks: all.flatMap(({ remarks }) => remarks),
    figures: Object.fromEntries(Object.entries(done).map(([name, { figures }]) => [name, figures])),
  };
});

function chosen(part: string): readonly string[] {
  if (part === '') return Object.keys(parts);
  const names = part.split(',');
  const unknown = names.find((name) => !Object.hasOwn(parts, name));
  if (unknown === undefined) return names;
  const known = Object.keys(parts).join(', ');
  throw new UsageError(`--part ${part}: there is no part ${unknown}; there are ${known}`);
}
