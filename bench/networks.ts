// Several networks that crawl one web (docs/NETWORKS.md), with their pools in a redis-server of this
// machine: the cost of a page with real agents, the memory of the pools, and how many URLs they
// de-duplicate in a second. --write 1 draws docs/networks.svg.
// node bench/networks.ts [--part cost,memory,throughput] [--networks 1,2] [--agents 1] [--pages 6000]
// [--hosts 60] [--batch 500] [--runs 3] [--digests 200000] [--write 0] [--json]

import fs from 'node:fs';
import path from 'node:path';
import { stackCharts } from './chart.ts';
import { UsageError, whole, wholes, zeroOrOne } from './flags.ts';
import { cost } from './networks-cost.ts';
import { memory } from './networks-memory.ts';
import type { NetworksGiven } from './networks-part.ts';
import { throughput } from './networks-throughput.ts';
import { type PartResult, type Parts, runParts } from './parts.ts';
import { command, type Report } from './report.ts';

const flags = {
  /** Names of parts; all by default. */
  part: '',
  ...{ networks: wholes([1, 2], 1, 8), agents: whole(1, 1, 16), threads: whole(64, 1, 4096) },
  ...{ hosts: whole(60, 8, 254), pages: 6000, bytes: 20_500, runs: 3 },
  ...{ batch: whole(500, 1, 10_000), digests: 200_000, write: zeroOrOne(0) },
};

await command('networks', flags, async (given): Promise<Report> => {
  if (given.pages % given.hosts !== 0) {
    const { pages, hosts } = given;
    throw new UsageError(`--pages ${pages} --hosts ${hosts}: pages must be a multiple of hosts`);
  }
  const parts: Parts<NetworksGiven, PartResult & { readonly charts?: readonly string[] }> = {
    ...{ cost, memory, throughput },
  };
  const { done, report } = await runParts(parts, ['part', given.part], given);
  const charts = done.flatMap((part) => part.charts ?? []);
  if (given.write === 1 && charts.length > 0) {
    const svg = stackCharts('De-duplication between networks', charts);
    fs.writeFileSync(path.join(import.meta.dirname, '../docs/networks.svg'), svg);
  }
  return report;
});
