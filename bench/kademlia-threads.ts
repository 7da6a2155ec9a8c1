// Throughput of one agent against its threads, up to saturation: as many pages a second as threads
// can wait for, until the agent's processor is busy.

import { barChart } from './chart.ts';
import { answerMs, cpuMsOfAll, pageEnds, rateMost, withOverlay } from './kademlia-agents.ts';
import type { KademliaGiven, KademliaPart } from './kademlia-part.ts';
import { loadNow } from './machine.ts';
import { steadyRate } from './paper-measures.ts';
import { progress } from './report.ts';
import { spread, spreadText } from './sample.ts';

const threadCounts = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/** Twice the threads gain less than this share: the agent is saturated. */
const gainLeast = 0.15;
/** Hosts of a thread: enough that some are due while others wait. */
const hostsPerThread = 2;
/** Pages of a thread: some seconds of its time. */
const pagesPerThread = 60;
/** Beyond this an agent crawls for minutes. */
const pagesMost = 6000;
/** Share of the pages at which a crawl is stopped, after the middle that counts. */
const stopAt = 0.65;

interface Rate {
  readonly threads: number;
  readonly rates: number[];
  readonly cpuShares: number[];
  readonly loads: number[];
}

export async function threads(given: KademliaGiven): Promise<KademliaPart> {
  const all: Rate[] = [];
  let best = 0;
  let isSaturated = false;
  for (const count of threadCounts) {
    const one = await measure(given, count);
    all.push(one);
    const { median } = spread(one.rates);
    progress(`${count} threads: ${median.toFixed(1)} pages/s`);
    // Small numbers of threads allow the same rate, because requests hold them for less time.
    const mayGrow = rateMost(count) > rateMost(Math.max(1, count / 2));
    isSaturated = mayGrow && median < best * (1 + gainLeast);
    if (isSaturated) break;
    best = median;
  }
  const rows = all.map(({ threads: count, rates, cpuShares, loads }) => [
    String(count),
    spreadText(spread(rates), 1),
    rateMost(count).toFixed(0),
    `${(100 * spread(cpuShares).median).toFixed(0)} %`,
    loads.join(' '),
  ]);
  const bars = all.map(({ threads: count, rates }) => {
    const { median: value, least, most } = spread(rates);
    return { title: `${count} threads`, value, least, most, isOwn: true };
  });
  const last = all.at(-1);
  return {
    tables: [
      {
        title: `Pages per second of one agent against its threads; answers take ${answerMs} ms:`,
        columns: ['threads', 'pages/s', 'threads allow', 'CPU', 'loads'],
        rows,
      },
    ],
    charts: [barChart('Pages per second of one agent, against its threads', bars)],
    remarks: [
      isSaturated
        ? `Saturated at ${last?.threads} threads: fewer than ${gainLeast * 100} % more pages ` +
          'than with half as many.'
        : `Not saturated with ${last?.threads} threads.`,
    ],
    figures: all,
  };
}

async function measure(given: KademliaGiven, count: number): Promise<Rate> {
  const one: Rate = { threads: count, rates: [], cpuShares: [], loads: [] };
  for (let run = 1; run <= given.runs; run++) {
    const hosts = Math.max(8, hostsPerThread * count);
    const pages = Math.min(pagesMost, pagesPerThread * count);
    const size = { agents: 1, threads: count, hosts, pages, seed: given.seed + run };
    await withOverlay(given, size, async (cluster) => {
      await cluster.startAll();
      await cluster.reaches(stopAt * 0.3);
      const [fromMs, fromCpu] = [performance.now(), cpuMsOfAll(cluster)];
      await cluster.reaches(stopAt);
      const cpu = cpuMsOfAll(cluster) - fromCpu;
      one.cpuShares.push(cpu / (performance.now() - fromMs));
      one.rates.push(steadyRate(pageEnds(cluster), cluster.web.web.expected().must.size));
      one.loads.push(loadNow());
    });
  }
  return one;
}
