// The cost of several networks: the same web is crawled by one network alone and by several, and with
// as many agents by one cluster without. Each is compared with that crawl of the same round.

import path from 'node:path';
import { type CrawlFigures, costPerPage, cpuPerPage, type PageCost } from './crawl-figures.ts';
import { temporaryDirectory } from './leftovers.ts';
import type { NetworksGiven } from './networks-part.ts';
import type { PartResult } from './parts.ts';
import { crawlPlain } from './plain-cluster.ts';
import { linksPerPage, PlainWeb } from './plain-web.ts';
import { freePort } from './ports.ts';
import { RedisServer, type RedisUse } from './redis-server.ts';
import { progress, type Table, verdict } from './report.ts';
import { figureText, ratios, spread, spreadText } from './sample.ts';

/** Links of a page to random pages of all hosts. */
const farLinks = 10;
const targets = { cpu: 1.2, roundTrips: 0.1 };

interface Crawl {
  readonly figures: CrawlFigures;
  /** Null: without. */
  readonly redis: RedisUse | null;
}

interface Series {
  readonly networks: number;
  readonly mode: 'none' | 'redis';
  readonly crawls: Crawl[];
  /** A further crawl that counts, which costs time itself; null: not yet. */
  counted: Crawl | null;
}

export async function cost(given: NetworksGiven): Promise<PartResult> {
  const { hosts, pages, bytes: bodyBytes, runs } = given;
  const all = given.networks.flatMap((networks) =>
    (['none', 'redis'] as const).map(
      (mode): Series => ({ networks, mode, crawls: [], counted: null }),
    ),
  );
  const { directory, remove } = temporaryDirectory();
  try {
    const web = new PlainWeb({ hosts, pages, bodyBytes, farLinks }, await freePort());
    const root = path.join(directory, 'web');
    web.write(root);
    for (let run = 1; run <= runs; run++) {
      for (const one of run % 2 === 1 ? all : all.toReversed()) {
        const crawl = await crawlWith(one, web, root, given, 'agent');
        const ms = cpuPerPage(crawl.figures).toFixed(2);
        progress(`run ${run}, ${titleOf(one)}: ${ms} ms a page, load ${crawl.figures.load}`);
        one.crawls.push(crawl);
      }
    }
    for (const one of all) {
      one.counted = await crawlWith(one, web, root, given, 'counts');
      progress(`counts, ${titleOf(one)}`);
    }
  } finally {
    remove();
  }
  return partOf(all, given);
}

async function crawlWith(
  { networks, mode }: Series,
  web: PlainWeb,
  root: string,
  { agents, threads, batch }: NetworksGiven,
  follow: 'agent' | 'counts',
): Promise<Crawl> {
  const options = {
    ...{ agents: mode === 'none' ? networks * agents : agents, threads, backups: 0, warc: false },
    ...({ client: 'got', durability: 'power', follow } as const),
  };
  if (mode === 'none') return { figures: await crawlPlain(web, root, options), redis: null };
  const server = await RedisServer.start();
  try {
    const before = await server.use();
    const shared = { networks, redis: server.url, batch };
    const figures = await crawlPlain(web, root, { ...options, shared });
    return { figures, redis: RedisServer.difference(await server.use(), before) };
  } finally {
    await server.stop();
  }
}

function titleOf({ networks, mode }: Series): string {
  const count = networks === 1 ? '1 network' : `${networks} networks`;
  return mode === 'redis' ? count : `none, agents of ${count}`;
}

function countedOf({ counted }: Series): PageCost {
  return costPerPage(counted!.figures);
}

function overNone(one: Series, all: readonly Series[]): number[] {
  const none = all.find(({ networks, mode }) => networks === one.networks && mode === 'none')!;
  const cpu = ({ crawls }: Series) => crawls.map(({ figures }) => cpuPerPage(figures));
  return ratios(cpu(one), cpu(none));
}

function partOf(all: readonly Series[], { agents, pages, runs, batch }: NetworksGiven) {
  const rows = all.map((one) => {
    const counted = countedOf(one);
    const used = (of: (use: RedisUse) => number) =>
      spread(one.crawls.flatMap(({ redis }) => (redis ? [of(redis) / pages] : []))).median;
    return [
      titleOf(one),
      spreadText(spread(one.crawls.map(({ figures }) => cpuPerPage(figures)))),
      spreadText(spread(overNone(one, all))),
      figureText(counted.statements, 1),
      figureText(counted.allocatedBytes / 1000, 0),
      figureText(counted.redisCommands, 3),
      figureText(counted.roundTrips, 3),
      figureText(
        used(({ bytes }) => bytes),
        0,
      ),
      figureText(
        used(({ cpuMs }) => cpuMs),
        3,
      ),
      one.crawls.map(({ figures }) => figures.load).join(' '),
    ];
  });
  const remarks = all.flatMap((one) => {
    if (one.mode === 'none') return [];
    return [
      verdict(`${titleOf(one)}: CPU over none`, spread(overNone(one, all)).median, targets.cpu, 3),
      verdict(
        `${titleOf(one)}: round trips a page`,
        countedOf(one).roundTrips,
        targets.roundTrips,
        3,
      ),
    ];
  });
  const title =
    `Per page, CPU median (least-most) of ${runs}, counts of one; ${pages} pages, ` +
    `${farLinks} of ${linksPerPage} ` +
    `links foreign, ${agents} agents a network, batch ${batch}:`;
  const columns = [
    ...['', 'CPU ms', 'over none', 'statements', 'KB allocated', 'commands', 'round trips'],
    ...['bytes', 'Redis CPU ms', 'loads'],
  ];
  return { tables: [{ title, columns, rows }, tiers(all)], remarks, figures: all };
}

/** The duplicates that each tier removes, as shares of all links that lead to pages. */
function tiers(all: readonly Series[]): Table {
  const rows = all.map((one) => {
    const share = (links: (cost: PageCost) => number) =>
      figureText((100 * links(countedOf(one))) / linksPerPage, 1);
    return [
      titleOf(one),
      share(({ urlsRouted }) => linksPerPage - urlsRouted),
      share(({ urlsRouted, urlsNew }) => urlsRouted - urlsNew),
      share(({ urlsElsewhere }) => urlsElsewhere),
      share(({ urlsNew, urlsElsewhere }) => urlsNew - urlsElsewhere),
    ];
  });
  const title = `Of 100 links, duplicates that each tier removes:`;
  const columns = ['', 'agent that finds them', 'owner of the host', 'other networks', 'left'];
  return { title, columns, rows };
}
