// The cost of a cluster relative to one agent: more and more agents crawl the same web, and it
// reports processor time, messages and clock-independent counts per page. Messages must not grow
// with the number of agents: beyond a few agents nearly every link to another host already goes to
// another agent, and only the number of messages that share the links of a page grows.
// node bench/scale.ts [--most 8] [--backups 1] [--runs 1] [--hosts 60] [--pages 50] [--json]

import { hostsMax } from '../test/web/options.ts';
import { type CrawlFigures, costPerPage, crawlOnce, sentBy } from './cluster-run.ts';
import { threadsMax, whole, zeroOrOne } from './flags.ts';
import { command, progress, type Report } from './report.ts';
import { spread, spreadText } from './sample.ts';
import { trafficTable } from './traffic-table.ts';

/** Maximum CPU per page of four agents relative to one. */
const ratioMax = 1.15;

const flags = {
  /** Agents: 1, 2, 4 and so on up to this. */
  most: whole(8, 1, 64),
  ...{ backups: whole(1, 0, 16), runs: 1, hosts: whole(60, 1, hostsMax), pages: 50 },
  ...{ delay: whole(0, 0), threads: whole(16, 1, threadsMax) },
  ...{ warc: zeroOrOne(1), power: zeroOrOne(1) },
};

interface Series {
  readonly agents: number;
  readonly crawls: CrawlFigures[];
}

await command('scale', flags, async (given): Promise<Report> => {
  const series: Series[] = [];
  for (let agents = 1; agents <= given.most; agents *= 2) series.push({ agents, crawls: [] });
  const { hosts, pages, threads, delay: delayMs } = given;
  for (let run = 1; run <= given.runs; run++) {
    for (const { agents, crawls } of run % 2 === 1 ? series : series.toReversed()) {
      const crawl = await crawlOnce(
        { hosts, pages },
        {
          ...{ agents, delayMs, threads, warc: given.warc === 1, follow: 'counts' },
          backups: Math.min(given.backups, agents - 1),
          durability: given.power === 1 ? 'power' : 'process',
        },
      );
      progress(`${agents} agents: ${cpuOf(crawl).toFixed(2)} ms a page, load ${crawl.load}`);
      crawls.push(crawl);
    }
  }
  const of = (crawls: readonly CrawlFigures[], figure: (crawl: CrawlFigures) => number) =>
    spread(crawls.map(figure));
  const figures = series.map(({ agents, crawls }) => ({
    agents,
    cpuMsPerPage: of(crawls, cpuOf),
    messages: of(crawls, (crawl) => costPerPage(crawl).messages),
    bytes: of(crawls, (crawl) => costPerPage(crawl).bytes),
    statements: of(crawls, (crawl) => costPerPage(crawl).statements),
    transactions: of(crawls, (crawl) => costPerPage(crawl).transactions),
    allocatedKiB: of(crawls, (crawl) => costPerPage(crawl).allocatedBytes / 1024),
    heartbeats: of(crawls, heartbeatsPerSecond),
    loopLateMs: of(crawls, loopLateMs),
    loads: crawls.map(({ load }) => load),
  }));
  const columns = [
    ...['agents', 'CPU ms', 'messages', 'bytes', 'statements', 'transactions', 'allocated KiB'],
    ...['heartbeats/s of an agent', 'loop late ms, p99', 'loads'],
  ];
  const rows = figures.map((one) => [
    String(one.agents),
    spreadText(one.cpuMsPerPage),
    spreadText(one.messages),
    spreadText(one.bytes, 0),
    spreadText(one.statements, 1),
    spreadText(one.transactions),
    spreadText(one.allocatedKiB, 0),
    spreadText(one.heartbeats, 1),
    spreadText(one.loopLateMs, 1),
    one.loads.join(' '),
  ]);
  const title = `Per page, ${given.backups} backups, median (least-most) of ${given.runs}:`;
  const kinds = series.map(({ agents, crawls }) => ({ title: `${agents} agents`, crawls }));
  const tables = [{ title, columns, rows }, trafficTable(kinds)];
  return { tables, remarks: remarks(series), figures };
});

/** Processor milliseconds per page, all agents together. */
function cpuOf({ crawlCpuMs, pages }: CrawlFigures): number {
  return crawlCpuMs / pages;
}

function heartbeatsPerSecond({ agents, seconds }: CrawlFigures): number {
  return (sentBy(agents).get('HEARTBEAT')?.messages ?? 0) / agents.length / seconds;
}

/** The delay of the agent with the slowest event loop. */
function loopLateMs({ agents }: CrawlFigures): number {
  return Math.max(...agents.map((agent) => agent.loopLateMs));
}

function remarks(series: readonly Series[]): string[] {
  const median = (agents: number) =>
    spread(series.find((one) => one.agents === agents)?.crawls.map(cpuOf) ?? []).median;
  const ratio = median(4) / median(1);
  if (Number.isNaN(ratio)) return [];
  const word = ratio <= ratioMax ? 'holds' : 'missed';
  return [`Four agents cost ${ratio.toFixed(2)} × one (at most ${ratioMax}: ${word}).`];
}
