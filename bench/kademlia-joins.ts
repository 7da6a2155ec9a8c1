// The experiment of the paper: agents join one by one while the crawl runs, up to six, and throughput
// is sampled three times in each step. A line is fitted to the samples against the number of agents.
// Each agent of the paper had one core. Here, servers wait before they answer, so that the agents
// hardly need the processor, and six agents on one machine do not take it from each other.

import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from '../test/chaos/harness.ts';
import { answerMs, cpuMsOf, pageEnds, rateMost, withOverlay } from './kademlia-agents.ts';
import type { KademliaGiven, KademliaPart } from './kademlia-part.ts';
import { leastSquares } from './least-squares.ts';
import { loadNow } from './machine.ts';
import { progress } from './report.ts';
import { scatterChart } from './scatter-chart.ts';

const agentsMost = 6;
/** As in the paper, with a minute for each: eight minutes. */
const steps = 8;
const samplesPerStep = 3;
/** Few, so that the machine is not busy. */
const threads = 8;
const hosts = 240;
/** The web has this many times the pages that could be fetched. */
const spare = 1.5;

interface Sample {
  readonly agents: number;
  readonly seconds: number;
  readonly pagesPerSecond: number;
  /** Share of one core that an agent uses, on average. */
  readonly cpuPerAgent: number;
  readonly load: number;
}

export async function joins(given: KademliaGiven): Promise<KademliaPart> {
  const { every, seed } = given;
  const steadySteps = steps - agentsMost;
  const agentSteps = (agentsMost * (agentsMost + 1)) / 2 + steadySteps * agentsMost;
  const pages = Math.ceil(spare * agentSteps * every * rateMost(threads));
  const options = { agents: agentsMost, threads, pages, hosts, seed };
  const samples = await withOverlay(given, options, (cluster) => grow(cluster, every));
  const lineOf = (of: (sample: Sample) => number) =>
    leastSquares(samples.map((sample) => [sample.agents, of(sample)]));
  const speed = lineOf(({ pagesPerSecond }) => pagesPerSecond);
  const cpu = lineOf(({ cpuPerAgent }) => 100 * cpuPerAgent);
  const points = (of: (sample: Sample) => number) =>
    samples.map((sample) => [sample.agents, of(sample)] as const);
  return {
    tables: [
      {
        title:
          `Agents of ${threads} threads join every ${every} s while the crawl runs; ` +
          `answers take ${answerMs} ms:`,
        columns: ['s', 'agents', 'pages/s', 'CPU of an agent', 'load'],
        rows: samples.map(({ seconds, agents, pagesPerSecond, cpuPerAgent, load }) => [
          ...[seconds.toFixed(0), String(agents), pagesPerSecond.toFixed(1)],
          ...[`${(100 * cpuPerAgent).toFixed(1)} %`, String(load)],
        ]),
      },
    ],
    charts: [
      scatterChart({
        title: 'Pages per second, against the agents that have joined',
        ...{ x: 'agents', y: 'pages/s', line: speed },
        points: points(({ pagesPerSecond }) => pagesPerSecond),
      }),
      scatterChart({
        title: 'Processor time of an agent, against the agents that have joined',
        ...{ x: 'agents', y: '% of a core', line: cpu },
        points: points(({ cpuPerAgent }) => 100 * cpuPerAgent),
      }),
    ],
    remarks: [
      `Throughput: ${speed.slope.toFixed(2)} pages/s for each agent, ` +
        `R² = ${speed.rSquared.toFixed(3)}; its threads allow ${rateMost(threads).toFixed(0)}.`,
      `CPU of an agent: ${cpu.slope.toFixed(2)} % of a core more for each agent in the cluster.`,
    ],
    figures: { samples, speed, cpu },
  };
}

async function grow(cluster: Cluster, every: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedMs = performance.now();
  let from = { ms: startedMs, pages: 0, cpu: new Map<string, number>() };
  for (let sample = 0; sample < steps * samplesPerStep; sample++) {
    const step = Math.floor(sample / samplesPerStep);
    // The first agent crawls before the first sample, so that it does not contain the start.
    if (sample === 0) {
      await cluster.start('a1');
      await cluster.served(2 * threads);
      from = look(cluster);
    } else if (sample % samplesPerStep === 0 && step < agentsMost) {
      await cluster.start(`a${step + 1}`);
      await cluster.joined(`a${step + 1}`);
    }
    await pause(Math.max(0, from.ms + (every * 1000) / samplesPerStep - performance.now()));
    const to = look(cluster);
    const [ms, agents] = [to.ms - from.ms, cluster.living().length];
    // An agent that has started within the sample has used nothing before.
    const used = [...to.cpu].map(([id, cpuMs]) => cpuMs - (from.cpu.get(id) ?? 0));
    samples.push({
      ...{ agents, load: loadNow(), seconds: (to.ms - startedMs) / 1000 },
      pagesPerSecond: ((to.pages - from.pages) / ms) * 1000,
      cpuPerAgent: used.reduce((sum, one) => sum + one, 0) / ms / agents,
    });
    const { pagesPerSecond } = samples.at(-1)!;
    progress(`${agents} agents: ${pagesPerSecond.toFixed(1)} pages/s`);
    from = to;
  }
  return samples;
}

function look(cluster: Cluster) {
  const cpu = new Map(cluster.living().map((id) => [id, cpuMsOf(cluster, id)]));
  return { ms: performance.now(), pages: pageEnds(cluster).length, cpu };
}
