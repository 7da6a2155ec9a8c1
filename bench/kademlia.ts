// The experiments of the paper on the Kademlia overlay (Tao and Xiang 2016), and what its six agents
// could not show. With real agents: throughput against the threads of one agent, a cluster that grows
// while it crawls, and processor time against the number of agents. On virtual time, with the real
// core: clusters of hundreds of agents, and look-ups while agents come and go.
// node bench/kademlia.ts [--part threads,joins,cpu,simulated,churn] [--agents 64,256]
// [--grown 64] [--ids 4] [--neighbourhood 5] [--backups 1] [--hosts 2] [--pages 6] [--partners 0]
// [--minutes 5] [--write 0]
// `--write 1` draws docs/kademlia.svg. Up to `--grown` simulated agents join one after another; more
// of them start as after a restart. 1,024 take more than 15 minutes of a core and 5 GiB; `--whole 0`
// leaves only their routing tables.

import fs from 'node:fs';
import path from 'node:path';
import { stackCharts } from './chart.ts';
import { whole, zeroOrOne } from './flags.ts';
import { churn } from './kademlia-churn.ts';
import { cpu } from './kademlia-cpu.ts';
import { joins } from './kademlia-joins.ts';
import { type KademliaGiven, type KademliaPart, overlayFlags, sizeFlags } from './kademlia-part.ts';
import { simulated } from './kademlia-simulated.ts';
import { threads } from './kademlia-threads.ts';
import { type Parts, runParts } from './parts.ts';
import { command, type Report } from './report.ts';

const flags = {
  /** Names of parts; all by default. */
  part: '',
  ...{ ...sizeFlags, ...overlayFlags },
  /** Of churn, and between the first and the last sample of the joins. */
  minutes: whole(5, 1, 60),
  /** Time between two joins, in seconds: a minute in the paper. */
  every: whole(60, 5, 600),
  ...{ runs: 1, seed: whole(1, 0), write: zeroOrOne(0) },
};

const parts: Parts<KademliaGiven, KademliaPart> = { threads, joins, cpu, simulated, churn };

await command('kademlia', flags, async (given): Promise<Report> => {
  const { done, report } = await runParts(parts, ['part', given.part], given);
  const charts = done.flatMap((part) => part.charts);
  if (given.write === 1 && charts.length > 0) {
    const svg = stackCharts('The Kademlia overlay', charts);
    fs.writeFileSync(path.join(import.meta.dirname, '../docs/kademlia.svg'), svg);
  }
  return report;
});
