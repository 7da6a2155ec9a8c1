// Processor time of an agent against the size of the cluster, when all agents have joined. Each has
// the same work, so the share of a core that it uses must not grow.

import { barChart } from './chart.ts';
import { answerMs, cpuMsOfAll, pageEnds, withOverlay } from './kademlia-agents.ts';
import type { KademliaGiven, KademliaPart } from './kademlia-part.ts';
import { loadNow } from './machine.ts';
import { progress } from './report.ts';
import { spread, spreadText } from './sample.ts';

const sizes = [1, 2, 4, 6, 8];
const threads = 8;
const hostsPerAgent = 30;
/** A crawl is observed between these shares of its pages. */
const from = 0.2;
const to = 0.6;
const pagesPerAgent = 600;

interface Cost {
  readonly agents: number;
  /** Share of one core. */
  readonly cpuShares: number[];
  readonly cpuPerPage: number[];
  readonly rates: number[];
  readonly loads: number[];
}

export async function cpu(given: KademliaGiven): Promise<KademliaPart> {
  const all: Cost[] = [];
  for (const agents of sizes) all.push(await measure(given, agents));
  const rows = all.map(({ agents, cpuShares, cpuPerPage, rates, loads }) => [
    String(agents),
    spreadText(spread(cpuShares.map((share) => 100 * share)), 1),
    spreadText(spread(cpuPerPage), 2),
    spreadText(spread(rates), 1),
    loads.join(' '),
  ]);
  const bars = all.map(({ agents, cpuShares }) => {
    const { median: value, least, most } = spread(cpuShares.map((share) => 100 * share));
    return { title: `${agents} agents`, value, least, most, isOwn: true };
  });
  return {
    tables: [
      {
        title: `Processor time against the agents; ${threads} threads, answers take ${answerMs} ms:`,
        columns: ['agents', '% of a core, an agent', 'ms a page', 'pages/s of an agent', 'loads'],
        rows,
      },
    ],
    charts: [barChart('Processor time of an agent in % of a core, against the agents', bars, 1)],
    remarks: [],
    figures: all,
  };
}

async function measure(given: KademliaGiven, agents: number): Promise<Cost> {
  const cost: Cost = { agents, cpuShares: [], cpuPerPage: [], rates: [], loads: [] };
  for (let run = 1; run <= given.runs; run++) {
    const hosts = hostsPerAgent * agents;
    const size = { agents, threads, hosts, pages: pagesPerAgent * agents, seed: given.seed + run };
    await withOverlay(given, size, async (cluster) => {
      await cluster.startAll();
      await cluster.reaches(from);
      const look = () => ({
        ms: performance.now(),
        cpuMs: cpuMsOfAll(cluster),
        pages: pageEnds(cluster).length,
      });
      const before = look();
      await cluster.reaches(to);
      const after = look();
      const [ms, cpuMs] = [after.ms - before.ms, after.cpuMs - before.cpuMs];
      const pages = after.pages - before.pages;
      cost.cpuShares.push(cpuMs / ms / agents);
      cost.cpuPerPage.push(cpuMs / pages);
      cost.rates.push((pages / ms / agents) * 1000);
      cost.loads.push(loadNow());
      progress(`${agents} agents: ${((100 * cpuMs) / ms / agents).toFixed(1)} % of a core each`);
    });
  }
  return cost;
}
