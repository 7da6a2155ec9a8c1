// The results of the crawls of all contenders: medians over the rounds with their spread, the speed
// of each as a share of the bare loop's speed in the same round, and the targets for ubiring. Speed
// is pages per core-second, because pages per second depend on other load of the machine. Pure.

import { bareId } from './contenders.ts';
import type { Table } from './report.ts';
import { figureText, ratios, type Spread, spread, spreadText } from './sample.ts';

/** One crawl of the whole web that fetched every page. */
export interface Crawl {
  readonly cpuMs: number;
  /** The same for a crawl of one page in the same round: the cost of start and end. */
  readonly startCpuMs: number;
  readonly seconds: number;
  readonly rssBytesMax: number;
  readonly requests: number;
  readonly load: number;
}

export interface Series {
  readonly id: string;
  readonly title: string;
  readonly keeps: string;
  /** By round; null if it failed. */
  readonly crawls: (Crawl | null)[];
  /** Why figures are missing. */
  readonly failures: string[];
}

/** Pages per core-second in each round, divided by those of the other in the same round. */
export function speedOver(one: Series | undefined, other: Series | undefined): number[] {
  const cpu = (series: Series | undefined) => series?.crawls.map((c) => c?.cpuMs ?? Number.NaN);
  return ratios(cpu(other) ?? [], cpu(one) ?? []).filter((ratio) => !Number.isNaN(ratio));
}

/** Milliseconds of processor time per page, start and end included. */
export function cpuPerPage({ crawls }: Series, pages: number): number[] {
  return crawls.flatMap((crawl) => (crawl ? [crawl.cpuMs / pages] : []));
}

/** The same without the cost of a crawl of one page. */
function cpuBeyondStart({ crawls }: Series, pages: number): number[] {
  return crawls.flatMap((c) => (c ? [(c.cpuMs - c.startCpuMs) / (pages - 1)] : []));
}

/** Fastest first. Contenders without figures are last. */
export function bySpeed(series: readonly Series[], pages: number): Series[] {
  const cpu = (one: Series) => spread(cpuPerPage(one, pages)).median;
  return series.toSorted((a, b) => (cpu(a) || Infinity) - (cpu(b) || Infinity));
}

export function comparisonTable(all: readonly Series[], pages: number): Table {
  const bare = find(all, bareId);
  const rows = bySpeed(all, pages).map((one) => {
    const of = (figure: (crawl: Crawl) => number) =>
      spread(one.crawls.flatMap((crawl) => (crawl ? [figure(crawl)] : [])));
    return [
      one.title,
      one.keeps,
      spreadText(spread(cpuPerPage(one, pages))),
      spreadText(spread(cpuBeyondStart(one, pages))),
      spreadText(spread(speedOver(one, bare))),
      spreadText(
        of(({ seconds }) => pages / seconds),
        0,
      ),
      spreadText(
        of(({ rssBytesMax }) => rssBytesMax / 2 ** 20),
        0,
      ),
      spreadText(
        of(({ load }) => load),
        1,
      ),
    ];
  });
  const columns = [
    ...['crawler', 'keeps', 'CPU ms/page', 'without start', 'speed over bare got'],
    ...['pages/s', 'memory MiB', 'load'],
  ];
  return { title: 'Median (least-most); speed is pages per core-second:', columns, rows };
}

/** Two contenders, by id. */
interface Pair {
  readonly of: string;
  readonly over: string;
}

interface Target extends Pair {
  readonly least: number;
}

/** The required shares of another contender's speed in the same run. */
const targets: readonly Target[] = [
  ...withBothClients({ over: bareId, least: 0.8 }),
  ...withBothClients({ over: 'spider-rs', least: 1 }),
  ...withBothClients({ over: 'simplecrawler', least: 2 }),
  ...withBothClients({ over: 'httrack', least: 3 }),
  ...withBothClients({ over: 'crawlee', least: 5 }),
  ...withBothClients({ over: 'scrapy', least: 10 }),
  { of: 'ubiring-1-safe', over: bareId, least: 0.55 },
  { of: 'ubiring-1-safe-node', over: bareId, least: 0.55 },
  { of: 'ubiring-2-safe', over: bareId, least: 0.55 },
  { of: 'ubiring-4', over: 'ubiring-1', least: 1 / 1.15 },
];

/** The target for one agent, with got and with Node's own client. */
function withBothClients(target: Omit<Target, 'of'>): Target[] {
  return ['ubiring-1', 'ubiring-1-node'].map((of) => ({ of, ...target }));
}

/** The targets. A pair has a row only if both were measured. */
export function targetTable(all: readonly Series[]): Table {
  const rows = targets.flatMap((pair) => {
    const speeds = speedOfPair(all, pair);
    if (speeds === null) return [];
    const verdict = speeds.median >= pair.least ? 'holds' : 'missed';
    return [[titleOfPair(all, pair), spreadText(speeds), pair.least.toFixed(2), verdict]];
  });
  const columns = ['speed', 'measured', 'at least', ''];
  return { title: 'What was asked for, by pairs of the same round:', columns, rows };
}

/** The limits of ubiring: its libraries alone, and processes that share nothing. */
const limits: readonly Pair[] = [
  { of: 'bare-http', over: 'spider-rs' },
  { of: bareId, over: 'spider-rs' },
  { of: 'bare-http', over: 'httrack' },
  { of: bareId, over: 'httrack' },
  { of: 'ubiring-4-apart', over: 'ubiring-1' },
  { of: 'ubiring-4', over: 'ubiring-4-apart' },
];

/** The limits in the same run. A pair has a row only if both were measured. */
export function limitTable(all: readonly Series[]): Table {
  const rows = limits.flatMap((pair) => {
    const speeds = speedOfPair(all, pair);
    return speeds === null ? [] : [[titleOfPair(all, pair), spreadText(speeds)]];
  });
  return { title: 'What bounds that:', columns: ['speed', 'measured'], rows };
}

/**
 * Tables for a page of the documentation: only medians, ubiring separate from the others, and the
 * target beside each of those.
 */
export function pageTables(all: readonly Series[], pages: number): Table[] {
  const sorted = bySpeed(all, pages);
  const isOwn = ({ id }: Series) => id.startsWith('ubiring');
  const medianOver = (of: string, over: string) =>
    speedOfPair(all, { of, over })?.median.toFixed(2) ?? '-';
  const own = sorted
    .filter(isOwn)
    .map((one) => [
      one.title.replace('ubiring, ', ''),
      ...medians(one, pages),
      medianOver(one.id, bareId),
    ]);
  const others = sorted
    .filter((one) => !isOwn(one))
    .map((one) => {
      const target = targets.find(({ of, over }) => of === 'ubiring-1' && over === one.id);
      const ratios = target
        ? [medianOver('ubiring-1', one.id), medianOver('ubiring-1-node', one.id)]
        : ['-', '-'];
      return [one.title, ...medians(one, pages), ...ratios, target?.least.toFixed(2) ?? '-'];
    });
  const figures = ['CPU ms/page', 'pages/s', 'memory MiB'];
  const asked = ['1 agent over it', 'with http.client: node', 'target'];
  return [
    {
      title: 'Medians. Speed is pages per core-second, here over that of the bare got loop:',
      columns: ['ubiring', ...figures, 'speed'],
      rows: own,
    },
    {
      title: "ubiring's speed over that of others in the same round:",
      columns: ['others', ...figures, ...asked],
      rows: others,
    },
  ];
}

function medians(one: Series, pages: number): string[] {
  const median = (figures: readonly number[]) => spread(figures).median;
  const done = one.crawls.filter((crawl) => crawl !== null);
  return [
    figureText(median(cpuPerPage(one, pages))),
    figureText(median(done.map(({ seconds }) => pages / seconds)), 0),
    figureText(median(done.map(({ rssBytesMax }) => rssBytesMax / 2 ** 20)), 0),
  ];
}

function speedOfPair(all: readonly Series[], { of, over }: Pair): Spread | null {
  const speeds = speedOver(find(all, of), find(all, over));
  return speeds.length === 0 ? null : spread(speeds);
}

function titleOfPair(all: readonly Series[], { of, over }: Pair): string {
  return `${find(all, of)?.title} over ${find(all, over)?.title}`;
}

function find(all: readonly Series[], named: string): Series | undefined {
  return all.find(({ id }) => id === named);
}
