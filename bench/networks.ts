// Several networks that crawl one web (docs/NETWORKS.md), with their pools in a redis-server of this
// machine: the cost of a page with real agents, and the memory of the pools.
// node bench/networks.ts [--part cost,memory] [--networks 1,2] [--agents 1] [--pages 6000]
// [--hosts 60] [--batch 500] [--runs 3] [--digests 200000] [--json]

import { UsageError, whole, wholes } from './flags.ts';
import { cost } from './networks-cost.ts';
import { memory } from './networks-memory.ts';
import { runParts } from './parts.ts';
import { command, type Report } from './report.ts';

const flags = {
  /** Names of parts; all by default. */
  part: '',
  ...{ networks: wholes([1, 2], 1, 8), agents: whole(1, 1, 16), threads: whole(64, 1, 4096) },
  ...{ hosts: whole(60, 8, 254), pages: 6000, bytes: 20_500, runs: 3 },
  ...{ batch: whole(500, 1, 10_000), digests: 200_000 },
};

await command('networks', flags, async (given): Promise<Report> => {
  if (given.pages % given.hosts !== 0) {
    const { pages, hosts } = given;
    throw new UsageError(`--pages ${pages} --hosts ${hosts}: pages must be a multiple of hosts`);
  }
  return (await runParts({ cost, memory }, ['part', given.part], given)).report;
});
