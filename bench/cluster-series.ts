// Crawls of plain webs by clusters of several sizes, one after the other, in several rounds: the
// basis of `scale.ts` and `copies.ts`. Each web has another share of links to other hosts. All kinds
// of crawls alternate, and every other round runs in reverse order, so that a drift of the machine
// favours none. Crawls that are counted or profiled come last, and their times do not count.

import path from 'node:path';
import {
  costTable,
  figuresOf,
  type Kind,
  type Series,
  shareTable,
  titleOf,
} from './cluster-cost.ts';
import { cpuPerPage } from './crawl-figures.ts';
import { type Given, oneOf, threadsMax, UsageError, whole, wholes, zeroOrOne } from './flags.ts';
import { temporaryDirectory } from './leftovers.ts';
import { crawlPlain, type PlainClusterOptions } from './plain-cluster.ts';
import { serverHere } from './plain-server.ts';
import { linksPerPage, PlainWeb } from './plain-web.ts';
import { freePort } from './ports.ts';
import { progress, type Report } from './report.ts';
import { trafficTable } from './traffic-table.ts';

/** With their defaults; a command adds its numbers of agents. */
export const seriesFlags = {
  /** Shares of the links that lead to random pages of all hosts, in percent. */
  foreign: wholes([0, 10, 30], 0, 100),
  backups: wholes([0, 1], 0, 16),
  runs: 3,
  ...{ hosts: whole(200, 1, 254), pages: 40_000, bytes: 20_500 },
  ...{ threads: whole(64, 1, threadsMax), client: oneOf('got', 'node') },
  ...{ warc: zeroOrOne(0), power: zeroOrOne(1) },
  /** 1: one more crawl of each kind shows what the main thread does. */
  profile: zeroOrOne(1),
};

type SeriesFlags = Given<typeof seriesFlags>;

interface Stage {
  readonly web: PlainWeb;
  readonly root: string;
}

/**
 * Crawls and reports.
 *
 * @param verdicts - the sentences about the targets
 * @throws a {@link UsageError} if the pages cannot be distributed, before it crawls
 */
export async function measureSeries(
  given: SeriesFlags,
  kinds: readonly Kind[],
  verdicts: (all: readonly Series[]) => string[],
): Promise<Report> {
  const { hosts, pages, runs } = given;
  if (pages % hosts !== 0) {
    throw new UsageError(`--pages ${pages} --hosts ${hosts}: pages must be a multiple of hosts`);
  }
  const all = kinds.map((kind): Series => ({ ...kind, crawls: [], counted: null, profiled: null }));
  const { directory, remove } = temporaryDirectory();
  try {
    const stages = await writeWebs(given, directory);
    const crawl = (kind: Kind, follow: PlainClusterOptions['follow']) => {
      const { web, root } = stages.get(kind.foreign)!;
      return crawlPlain(web, root, { ...optionsOf(kind, given), follow });
    };
    for (let run = 1; run <= runs; run++) {
      for (const one of run % 2 === 1 ? all : all.toReversed()) {
        const done = await crawl(one, 'agent');
        const cpu = cpuPerPage(done).toFixed(2);
        progress(`run ${run}, ${titleOf(one)}: ${cpu} ms a page, load ${done.load}`);
        one.crawls.push(done);
      }
    }
    for (const one of all) {
      one.counted = await crawl(one, 'counts');
      progress(`counts, ${titleOf(one)}`);
    }
    for (const one of given.profile === 1 ? all : []) {
      one.profiled = await crawl(one, 'profile');
      progress(`profile, ${titleOf(one)}: ${cpuPerPage(one.profiled).toFixed(2)} ms a page`);
    }
  } finally {
    remove();
  }
  const title = `Per page, CPU median (least-most) of ${runs}, counts of one; ${settingOf(given)}:`;
  const traffic = all.map((one) => ({ title: titleOf(one), crawls: one.crawls }));
  return {
    tables: [costTable(all, title), shareTable(all), trafficTable(traffic)],
    remarks: verdicts(all),
    figures: figuresOf(all),
  };
}

/** A web for each share of links. They have one port, because only one at a time is served. */
async function writeWebs(
  { foreign, hosts, pages, bytes: bodyBytes }: SeriesFlags,
  directory: string,
): Promise<ReadonlyMap<number, Stage>> {
  const port = await freePort();
  const stages = new Map<number, Stage>();
  for (const percent of foreign) {
    const farLinks = Math.round((percent / 100) * linksPerPage);
    const web = new PlainWeb({ hosts, pages, bodyBytes, farLinks }, port);
    const root = path.join(directory, `web-${percent}`);
    web.write(root);
    progress(`${percent} %: wrote a web with ${farLinks} of ${linksPerPage} links to random hosts`);
    stages.set(percent, { web, root });
  }
  return stages;
}

function optionsOf({ agents, backups }: Kind, { threads, client, warc, power }: SeriesFlags) {
  const durability = power === 1 ? 'power' : 'process';
  return { agents, backups, threads, client, warc: warc === 1, durability } as const;
}

function settingOf({ pages, hosts, bytes, warc, power }: SeriesFlags): string {
  return (
    `${pages} pages of ${Math.round(bytes / 102.4) / 10} KiB on ${hosts} hosts, served by ` +
    `${serverHere()}, ${warc === 1 ? 'with' : 'without'} archive, ` +
    `durability ${power === 1 ? 'power' : 'process'}`
  );
}
