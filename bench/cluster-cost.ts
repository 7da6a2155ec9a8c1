// The cost of a page in clusters that crawl the same webs: processor time, also relative to one
// agent and to no copies, messages, rows, commits and syncs, and the share of the processor time
// that each part of the agents takes. Ratios are taken round by round, so that other load of the
// machine affects both crawls. Pure.

import {
  type CrawlFigures,
  costPerPage,
  cpuPerPage,
  type PageCost,
  sumByName,
} from './crawl-figures.ts';
import type { Part } from './main-thread-profile.ts';
import type { ThreadKind } from './probe-threads.ts';
import type { Table } from './report.ts';
import { figureText, ratios, spread, spreadText } from './sample.ts';

/** What distinguishes the crawls. */
export interface Kind {
  /** Share of the links that lead to other hosts, in percent. */
  readonly foreign: number;
  readonly agents: number;
  readonly backups: number;
}

export interface Series extends Kind {
  /** One for each round. */
  readonly crawls: CrawlFigures[];
  /** A further crawl that counts, which costs time itself; null: not yet. */
  counted: CrawlFigures | null;
  /** A further crawl with a profile; null if none was requested. */
  profiled: CrawlFigures | null;
}

interface Wanted {
  readonly foreign: readonly number[];
  readonly agents: readonly number[];
  readonly backups: readonly number[];
}

/** All combinations that exist: the copies of a page are at different agents. */
export function kindsOf({ foreign, agents, backups }: Wanted): Kind[] {
  return foreign.flatMap((share) =>
    agents.flatMap((count) =>
      backups
        .filter((copies) => copies < count)
        .map((copies) => ({ foreign: share, agents: count, backups: copies })),
    ),
  );
}

/** `10 %, 4 agents, 1 backup` */
export function titleOf({ foreign, agents, backups }: Kind): string {
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  return `${foreign} %, ${count(agents, 'agent')}, ${count(backups, 'backup')}`;
}

/** Processor time relative to one agent on the same web, for each round. */
export function overOneAgent(one: Series, all: readonly Series[]): number[] {
  return over(one, all, { agents: 1, backups: 0 });
}

/** Processor time relative to as many agents without copies, for each round. */
export function overNoCopy(one: Series, all: readonly Series[]): number[] {
  return over(one, all, { agents: one.agents, backups: 0 });
}

function over(one: Series, all: readonly Series[], base: Pick<Kind, 'agents' | 'backups'>) {
  const { crawls = [] } =
    all.find(
      ({ foreign, agents, backups }) =>
        foreign === one.foreign && agents === base.agents && backups === base.backups,
    ) ?? {};
  return ratios(one.crawls.map(cpuPerPage), crawls.map(cpuPerPage));
}

const counts: readonly (readonly [keyof PageCost, string, number])[] = [
  ['messages', 'messages', 2],
  ['bytes', 'bytes', 0],
  ['statements', 'statements', 1],
  ['writing', 'rows', 1],
  ['transactions', 'commits', 3],
  ['syncs', 'syncs', 3],
];

/** Processor time and counts per page. */
export function costTable(all: readonly Series[], title: string): Table {
  const rows = all.map((one) => [
    titleOf(one),
    spreadText(spread(one.crawls.map(cpuPerPage))),
    spreadText(spread(overOneAgent(one, all))),
    spreadText(spread(overNoCopy(one, all))),
    ...counts.map(([name, , digits]) => figureText(countOf(one, name), digits)),
    figureText(spread(one.crawls.map(({ pages, seconds }) => pages / seconds)).median, 0),
    one.crawls.map(({ load }) => load).join(' '),
  ]);
  const names = counts.map(([, name]) => name);
  const columns = ['', 'CPU ms', 'over one agent', 'over no copy', ...names, 'pages/s', 'loads'];
  return { title, columns, rows };
}

function countOf({ counted }: Series, name: keyof PageCost): number {
  return costPerPage(counted!)[name];
}

/** Parts of the main thread, or all of it, and the other threads. */
export type ShareName = Part | ThreadKind;

/** In the order of the table, with their titles there. */
const shown: readonly (readonly [ShareName, string])[] = [
  ['messages', 'messages'],
  ['frames', 'frames'],
  ['statements', 'statements'],
  ['commits', 'commits'],
  ['syncs', 'syncs'],
  ['protocol', 'protocol'],
  ['fetching', 'fetching'],
  ['other', 'rest of agent'],
  ['collection', 'GC'],
  ['node', 'Node'],
  ['main', 'main thread'],
  ['parse', 'parse thr.'],
  ['archive', 'archive thr.'],
  ['v8', 'V8 thr.'],
  ['zeromq', 'ZeroMQ thr.'],
];

/**
 * The share of the processor time of each part, in [0, 1]. Threads are measured in all crawls. A
 * profile, if there is one, divides the time of the main thread, whose own name is then absent.
 * Empty where threads cannot be told apart.
 */
export function sharesOf({ crawls, profiled }: Series): Map<ShareName, number> {
  const whole = crawls.reduce((sum, { crawlCpuMs }) => sum + crawlCpuMs, 0);
  const threads = sumByName<ThreadKind>(
    crawls.flatMap(({ agents }) => agents.map((agent) => agent.threads)),
  );
  const main = (threads.get('main') ?? 0) / whole;
  const shares = new Map<ShareName, number>();
  for (const [kind, ms] of threads) if (kind !== 'other') shares.set(kind, ms / whole);
  const parts = sumByName<Part>(profiled?.agents.map(({ profile }) => profile ?? {}) ?? []);
  const samples = [...parts.values()].reduce((sum, count) => sum + count, 0);
  if (samples === 0 || main === 0) return shares;
  shares.delete('main');
  for (const [part, count] of parts) shares.set(part, (main * count) / samples);
  return shares;
}

/** Without the columns that are empty in all rows. */
export function shareTable(all: readonly Series[]): Table {
  const shares = all.map(sharesOf);
  const seen = shown.filter(([name]) => shares.some((of) => (of.get(name) ?? 0) > 0));
  const rows = all.map((one, k) => {
    const values = seen.map(([name]) => shares[k]?.get(name) ?? 0);
    return [titleOf(one), ...values.map((share) => (100 * share).toFixed(1))];
  });
  const title = 'Share of the CPU in percent: parts of the main thread, then other threads (thr.):';
  return { title, columns: ['', ...seen.map(([, name]) => name)], rows };
}

/** All that was measured, for `--json`. */
export function figuresOf(all: readonly Series[]): unknown[] {
  return all.map((one) => {
    const { foreign, agents, backups, crawls, counted } = one;
    return {
      ...{ foreign, agents, backups, cpuMsPerPage: spread(crawls.map(cpuPerPage)) },
      overOneAgent: spread(overOneAgent(one, all)),
      overNoCopy: spread(overNoCopy(one, all)),
      perPage: counted && costPerPage(counted),
      shares: Object.fromEntries(sharesOf(one)),
      pagesPerSecond: crawls.map(({ pages, seconds }) => pages / seconds),
      loopLateMs: crawls.map((crawl) => crawl.agents.map((agent) => agent.loopLateMs)),
      loads: crawls.map(({ load }) => load),
    };
  });
}
