// The cost of copies: processor time per page with one and two backups relative to none, and the
// messages that the cluster sends for each page. Compared crawls of the same web follow one
// another, and ratios are taken pair by pair, so that other load of the machine affects both. The
// time before an agent takes part does not count; `start.ts` measures it.
// node bench/copies.ts [--agents 2] [--runs 3] [--hosts 50] [--pages 40] [--json]

import { hostsMax } from '../test/web/options.ts';
import { type CrawlFigures, crawlOnce } from './cluster-run.ts';
import { threadsMax, UsageError, whole, zeroOrOne } from './flags.ts';
import { command, progress, type Report, type Table } from './report.ts';
import { ratios, spread, spreadText } from './sample.ts';
import { sentPerPage, trafficTable } from './traffic-table.ts';

/** Maximum cost of one copy relative to none. */
const ratioMax = 1.15;

const flags = {
  /** 0: two agents, then four. */
  agents: whole(0, 0, 64),
  /** Number of crawls of each kind. */
  ...{ runs: 3, hosts: whole(50, 1, hostsMax), pages: 40, delay: whole(10, 0) },
  ...{ threads: whole(16, 1, threadsMax), power: zeroOrOne(1) },
};

interface Series {
  readonly agents: number;
  readonly backups: number;
  readonly crawls: CrawlFigures[];
}

await command('copies', flags, async (given): Promise<Report> => {
  if (given.agents === 1) {
    throw new UsageError('--agents 1: one agent has no copies; give 2 or more, or 0 for 2 and 4');
  }
  const sizes = given.agents === 0 ? [2, 4] : [given.agents];
  const series = sizes.flatMap((agents) =>
    [0, 1, 2]
      .filter((backups) => backups < agents)
      .map((backups): Series => ({ agents, backups, crawls: [] })),
  );
  const { hosts, pages, delay: delayMs, threads } = given;
  const durability = given.power === 1 ? 'power' : 'process';
  for (let run = 1; run <= given.runs; run++) {
    // Every other round in reverse order, so that a drift of the machine favours none.
    for (const one of run % 2 === 1 ? series : series.toReversed()) {
      const { agents, backups } = one;
      const crawl = await crawlOnce(
        { hosts, pages },
        { agents, backups, delayMs, threads, durability, follow: 'agent' },
      );
      const cpu = cpuOf(crawl).toFixed(2);
      progress(`${agents} agents, ${backups} backups: ${cpu} ms a page, load ${crawl.load}`);
      one.crawls.push(crawl);
    }
  }
  const measured = series.map((one) => ({ ...one, over: overNone(one, series) }));
  return {
    tables: [
      costTable(measured, durability),
      trafficTable(series.map((one) => ({ title: titleOf(one), crawls: one.crawls }))),
    ],
    remarks: measured.filter(({ backups }) => backups === 1).map(verdict),
    figures: measured.map(({ agents, backups, crawls, over }) => ({
      ...{ agents, backups, over, cpuMsPerPage: spread(crawls.map(cpuOf)) },
      sentPerPage: Object.fromEntries(sentPerPage(crawls)),
      loads: crawls.map(({ load }) => load),
    })),
  };
});

function titleOf({ agents, backups }: Pick<Series, 'agents' | 'backups'>): string {
  return `${agents} agents, ${backups} backups`;
}

type Measured = Series & { readonly over: readonly number[] };

/** Processor milliseconds per page, all agents together. */
function cpuOf({ crawlCpuMs, pages }: CrawlFigures): number {
  return crawlCpuMs / pages;
}

function overNone(one: Series, series: readonly Series[]): number[] {
  const none = series.find(({ agents, backups }) => agents === one.agents && backups === 0);
  return ratios(one.crawls.map(cpuOf), none?.crawls.map(cpuOf) ?? []);
}

function verdict({ agents, over }: Measured): string {
  const { median } = spread(over);
  const word = median <= ratioMax ? 'holds' : 'missed';
  return `${agents} agents: one copy costs ${median.toFixed(2)} × none (at most ${ratioMax}: ${word}).`;
}

function costTable(measured: readonly Measured[], durability: string): Table {
  const rows = measured.map(({ agents, backups, crawls, over }) => [
    titleOf({ agents, backups }),
    String(crawls[0]?.pages ?? 0),
    spreadText(spread(crawls.map(cpuOf))),
    backups === 0 ? '1' : spreadText(spread(over)),
    spread(crawls.map(({ pages, seconds }) => pages / seconds)).median.toFixed(0),
    crawls.map(({ load }) => load).join(' '),
  ]);
  const columns = ['', 'pages', 'CPU ms/page', 'over none', 'pages/s', 'loads'];
  return { title: `Median (least-most), durability ${durability}:`, columns, rows };
}
