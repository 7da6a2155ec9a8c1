// Speed: pages per second of an agent, against its threads and against the number of agents. Each
// server waits before it answers, so agents wait more than they compute, and a few agents on one
// machine do not take its processor from each other. More agents are simulated with the real core,
// on virtual time: that shows the cost of the protocol's waits, but not of its processor time.

import { THREADS } from '../test/simulation/process.ts';
import { withCluster } from './cluster-run.ts';
import { loadNow } from './machine.ts';
import { claims } from './paper-claims.ts';
import { steadyRate } from './paper-measures.ts';
import type { PaperGiven, Part } from './paper-part.ts';
import { progress } from './report.ts';
import { type Spread, spread, spreadText } from './sample.ts';
import { crawlSimulated } from './simulated-crawl.ts';

/** Duration of each answer. With fewer than eight threads, a request would not hold one so long. */
const answerMs = 250;
const threadsOfMany = 8;
/** The same for simulated agents, which have half as many threads. */
const simulatedAnswerMs = 125;
/** Hosts of a thread: enough that some are due while others wait. */
const hostsPerThread = 2;
/** Share of the pages at which a crawl is stopped, after the middle that counts. */
const stopAt = 0.65;

interface Rate {
  readonly how: 'real' | 'simulated';
  readonly agents: number;
  readonly threads: number;
  /** Pages per second of one agent. */
  readonly rate: Spread;
  /** Pages per second if all threads always waited for an answer. */
  readonly bound: number;
  readonly loads: readonly number[];
}

export async function speed(given: PaperGiven): Promise<Part> {
  const byThreads: Rate[] = [];
  for (const threads of [8, 16, 32, 64]) byThreads.push(await real(given, 1, threads));
  const byAgents: Rate[] = [];
  for (const agents of [1, 2, 4]) byAgents.push(await real(given, agents, threadsOfMany));
  for (let agents = 1; agents <= given.most; agents *= 4) byAgents.push(simulated(given, agents));
  const rowOf = ({ how, agents, threads, rate, bound, loads }: Rate) => [
    how,
    String(agents),
    String(threads),
    spreadText(rate, 1),
    bound.toFixed(1),
    loads.join(' ') || '-',
  ];
  const columns = ['', 'agents', 'threads', 'pages/s of an agent', 'threads / answer', 'loads'];
  const bars = (rates: readonly Rate[], name: (rate: Rate) => string) =>
    rates.map((one) => ({ title: name(one), value: one.rate.median, isOwn: true }));
  return {
    tables: [
      {
        title: `Pages per second of an agent against its threads; answers take ${answerMs} ms:`,
        columns,
        rows: byThreads.map(rowOf),
      },
      {
        title: 'Pages per second of an agent against the number of agents:',
        columns: [...columns, 'UbiCrawler'],
        rows: byAgents.map((one) => [...rowOf(one), claims.speed]),
      },
    ],
    charts: [
      {
        title: 'Pages per second of an agent, against its threads',
        digits: 0,
        bars: bars(byThreads, ({ threads }) => `${threads} threads`),
      },
      {
        title: 'Pages per second of an agent, against the agents',
        digits: 0,
        bars: [
          { title: 'linear, as published', value: byAgents[0]?.rate.median ?? 0, isOwn: false },
          ...bars(byAgents, ({ agents, how }) => `${agents} agents, ${how}`),
        ],
      },
    ],
    figures: { byThreads, byAgents },
  };
}

async function real(given: PaperGiven, agents: number, threads: number): Promise<Rate> {
  const rates: number[] = [];
  const loads: number[] = [];
  const hosts = agents * Math.max(given.hosts, hostsPerThread * threads);
  for (let run = 1; run <= given.runs; run++) {
    const shares = { flaky: 0, slow: 0 };
    const options = {
      ...{ agents, threads, delayMs: 0, heartbeatMs: 500, suspectAfterMs: 10_000 },
      backups: Math.min(1, agents - 1),
      web: { seed: run, hosts, pages: given.pages, answerMs, shares },
    };
    const rate = await withCluster(options, async (cluster) => {
      await cluster.startAll();
      // The rest would only show how long the largest hosts take.
      await cluster.reaches(stopAt);
      loads.push(loadNow());
      const pages = cluster.web.requests().filter((one) => one.path !== '/robots.txt');
      const { size } = cluster.web.web.expected().must;
      return steadyRate(
        pages.map(({ endMs }) => endMs),
        size,
      );
    });
    progress(`${agents} agents, ${threads} threads: ${(rate / agents).toFixed(1)} pages/s each`);
    rates.push(rate / agents);
  }
  const bound = threads / (answerMs / 1000);
  return { how: 'real', agents, threads, rate: spread(rates), bound, loads };
}

function simulated({ hosts, pages }: PaperGiven, agents: number): Rate {
  const size = { agents, hosts, pages, links: 2, nearLinks: 2, backups: 1, seed: 1 };
  const { log } = crawlSimulated(size, { requestMs: () => simulatedAnswerMs });
  const ends = log.filter(({ url }) => !url.endsWith('/robots.txt')).map(({ end }) => end);
  const bound = THREADS / (simulatedAnswerMs / 1000);
  const rate = steadyRate(ends, ends.length) / agents;
  progress(`${agents} simulated agents: ${rate.toFixed(1)} pages/s each`);
  return {
    how: 'simulated',
    agents,
    threads: THREADS,
    rate: spread([rate]),
    bound,
    loads: [],
  };
}
