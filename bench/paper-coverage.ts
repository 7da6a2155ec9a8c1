// Coverage and overlap: without faults, with crashes, and with false suspicions. Crawls of real
// agents have one fault. More faults, and a cluster without copies, are simulated with the real
// core. A crashed agent never returns. A falsely suspected one only stood still until the others
// had removed it, and then joins again.

import { fetchedPages } from '../test/checkers/coverage.ts';
import { type Cluster, SUSPECT_MS } from '../test/simulation/cluster.ts';
import { withCluster } from './cluster-run.ts';
import { claims } from './paper-claims.ts';
import { coverageAndOverlap } from './paper-measures.ts';
import type { PaperGiven, Part } from './paper-part.ts';
import { progress } from './report.ts';
import { crawlSimulated } from './simulated-crawl.ts';

type Fault = 'none' | 'crash' | 'suspicion';

interface Covered {
  readonly how: 'real' | 'simulated';
  readonly agents: number;
  readonly backups: number;
  readonly fault: Fault;
  readonly count: number;
  readonly coverage: number;
  readonly overlap: number;
  readonly impolite: number;
}

const published: Readonly<Record<Fault, string>> = {
  none: claims.noFaults,
  crash: claims.crash,
  suspicion: claims.suspicion,
};
const realAgents = 3;
const simulatedAgents = 6;
const delayMs = 60;
/** After a real fault, and between two simulated ones: all others know it, and copies are made. */
const suspectAfterMs = 1500;
const recoveryMs = 2.5 * SUSPECT_MS;
const crawlMsMax = 120_000;

export async function coverage(given: PaperGiven): Promise<Part> {
  const crawls: Covered[] = [];
  const add = (one: Covered) => {
    progress(`${one.how}, ${one.fault} × ${one.count}: ${one.coverage}, ${one.overlap}`);
    crawls.push(one);
  };
  for (let run = 1; run <= given.runs; run++) {
    for (const fault of ['none', 'crash', 'suspicion'] as const) add(await real(given, fault, run));
  }
  const simulated = [
    ...[0, 1, 2, 3].map((count) => ({ fault: 'crash' as const, count, backups: 1 })),
    ...[1, 2, 3].map((count) => ({ fault: 'crash' as const, count, backups: 0 })),
    ...[1, 2, 3].map((count) => ({ fault: 'suspicion' as const, count, backups: 1 })),
  ];
  for (const { fault, count, backups } of simulated)
    add(simulateFaults(given, fault, count, backups));
  const rows = crawls.map((one) => [
    one.count === 0 ? 'no fault' : `${one.count} × ${one.fault}`,
    one.how,
    `${one.agents}, ${one.backups}`,
    one.coverage.toFixed(4),
    one.overlap.toFixed(4),
    String(one.impolite),
    published[one.count === 0 ? 'none' : one.fault],
  ]);
  const columns = ['', 'how', 'agents, backups', 'coverage', 'overlap', 'impolite', 'UbiCrawler'];
  return {
    tables: [{ title: 'Coverage and overlap:', columns, rows }],
    charts: [
      {
        title: 'Pages crawled again, per thousand (overlap)',
        digits: 1,
        bars: [
          { title: 'no fault, published', value: 0, isOwn: false },
          ...crawls
            .filter(({ backups }) => backups > 0)
            .map(({ how, fault, count, overlap }) => ({
              title: `${count === 0 ? 'no fault' : `${count} × ${fault}`}, ${how}`,
              value: overlap * 1000,
              isOwn: true,
            })),
        ],
      },
    ],
    figures: crawls,
  };
}

/** One crawl by agent processes. The fault happens at a third of the pages. */
async function real(given: PaperGiven, fault: Fault, run: number): Promise<Covered> {
  const web = { seed: run, hosts: realAgents * given.hosts, pages: given.pages };
  const options = {
    agents: realAgents,
    delayMs,
    threads: 16,
    heartbeatMs: 100,
    suspectAfterMs,
    web,
  };
  return withCluster(options, async (cluster) => {
    await cluster.startAll();
    await cluster.reaches(0.33);
    if (fault === 'crash') await cluster.kill('a2');
    if (fault === 'suspicion') {
      cluster.suspend('a2');
      await cluster.event('a1', 'suspect', 'a2');
      cluster.resume('a2');
    }
    const { judgement } = await cluster.finish(crawlMsMax);
    const { expected, fetched, overlap, concurrent, tooSoon } = judgement;
    return {
      ...{ how: 'real', agents: realAgents, backups: 1, fault, count: fault === 'none' ? 0 : 1 },
      coverage: fetched / expected,
      overlap: overlap.count / fetched,
      impolite: concurrent.count + tooSoon.count,
    };
  });
}

function simulateFaults(given: PaperGiven, fault: Fault, count: number, backups: number): Covered {
  const { hosts, pages } = given;
  const size = { agents: simulatedAgents, hosts, pages, links: 2, nearLinks: 2, backups, seed: 1 };
  const all = simulatedAgents * hosts * pages;
  const strike = (cluster: Cluster) => {
    for (let k = 1; k <= count; k++) {
      const enough = (all * k) / (count + 3);
      cluster.runUntil('enough pages', () => cluster.log.length >= enough);
      if (fault === 'crash') cluster.kill(`a${k}`);
      else cluster.stall(`a${k}`, 1.5 * SUSPECT_MS);
      cluster.run(recoveryMs);
    }
  };
  const { web, log, impolite } = crawlSimulated(size, { delayMs }, strike);
  const fetched = fetchedPages(log);
  return {
    ...{ how: 'simulated', agents: simulatedAgents, backups, fault, count, impolite },
    ...coverageAndOverlap(web.size, fetched.values()),
  };
}
