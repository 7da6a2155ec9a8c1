// Pages of the hosts in the state files on this machine, for a list that people scroll through: sorted,
// filtered, and continued after the last row rather than by its number, because rows are added all
// the time. Each request opens the files and closes them, so that none keeps an agent from truncating
// its write-ahead log.

import { z } from 'zod';
import { whyUnreadable } from '../../storage/file/reading.ts';
import { HOSTS_AMONG, HostFilter, hostRow } from '../../storage/reads/monitor-queries.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import {
  foundAgents,
  isDamage,
  openStateFile,
  openTogether,
  type StateFile,
  stateFileOf,
} from '../common/query-files.ts';
import { viewColumns } from '../state-files/query-views.ts';
import { unreadableOnes } from '../top/problems.ts';
import type { Unreadable } from '../top/unreadable-states.ts';
import type { OpenState } from './kept-copies.ts';
import { type Place, placeIn, tokenOf } from './list-token.ts';

/** Longer than any URL. */
const TEXT_MAX = 65_536;

const rowSchema = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
export type Row = Readonly<z.output<typeof rowSchema>>;

export const rowsPage = z.object({
  rows: z.array(rowSchema),
  next: z.string().nullable().meta({
    description: 'The next page: send it as `after`. null: there are no more rows.',
  }),
  problems: z.array(z.string()).meta({
    description: 'A sentence for each agent whose state could not be read.',
  }),
  holder: z.string().optional().meta({
    description:
      'Of the URLs of a host: the agent whose rows these are; absent: none has the host.',
  }),
});
export type RowsPage = z.output<typeof rowsPage>;

export const HOST_SORTS = [
  'host',
  'pages_queued',
  'pages_done',
  'delay_ms',
  'last_fetch_at',
] as const;
export const HOST_STATES = ['waiting', 'visiting', 'backing off', 'trap', 'done'] as const;
export interface HostsQuery {
  readonly agent?: string | undefined;
  readonly state?: (typeof HOST_STATES)[number] | undefined;
  /** Part of the name. */
  readonly search?: string | undefined;
  readonly sort: (typeof HOST_SORTS)[number];
  readonly limit: number;
  readonly after?: string | undefined;
}

const WHOLE_HOST = hostRow(viewColumns.hosts);

/**
 * The hosts of all agents, each once. Numbers are sorted in descending order, names in ascending
 * order.
 *
 * @param living - the agents that answer; see `holder`
 */
export function hostsPage(
  config: ResolvedConfig,
  query: HostsQuery,
  living: readonly string[],
  open: OpenState = openStateFile,
): RowsPage {
  const { limit, agent } = query;
  return withFiles({ config, agent, open, isTogether: true }, (files) => {
    const rows: Row[] = [];
    let after = query.after === undefined ? undefined : placeIn(listOf(query), query.after);
    // Rows of hosts that others have taken over do not count, so one reading may give too few.
    for (;;) {
      const all = foundHosts(files, query, after);
      const filesOf = filesByHost(files, [...new Set(all.map(({ host }) => host))]);
      for (const [i, { file, host, by }] of all.entries()) {
        // Two files may have a host with the same value: the cursor is behind both.
        const isTwin = after?.[0] === by && after[1] === host;
        if (rows.length === limit && !isTwin) {
          return { rows, next: after ? tokenOf(listOf(query), after) : null };
        }
        if (i >= limit && !isTwin) break;
        after = [by, host];
        const held = heldHost(files, filesOf.get(host) ?? [], host, living);
        if (held?.agent === file.agent) rows.push(held);
      }
      if (all.length <= limit) return { rows, next: null };
    }
  });
}

/** At least the first `limit` rows after the cursor, and one more if there are more. */
function foundHosts(files: ReadFiles, query: HostsQuery, after: Place | undefined) {
  const { sort, limit, agent, state, search } = query;
  const isName = sort === 'host';
  const filter = new HostFilter();
  if (state !== undefined) filter.add('state = ?', state);
  if (search !== undefined) filter.add('instr(host, ?) > 0', search.toLowerCase());
  if (after !== undefined) filter.after(sort, ...after);
  const found = filter.sql(sort, limit + 1);
  const all = files.each((file) => {
    if (agent !== undefined && file.agent !== agent) return [];
    return [...file.rows(found, ...filter.values)].map(([host, sorted]) => {
      const by = isName ? String(host) : Number(sorted);
      return { file, host: String(host), by };
    });
  });
  return all.sort((a, b) => compare(b.by, a.by, isName) || (a.host < b.host ? -1 : 1));
}

/** The files that have each host. One statement a file, because most hosts are in one file. */
function filesByHost(files: ReadFiles, hosts: readonly string[]): Map<string, StateFile[]> {
  const names = JSON.stringify(hosts);
  const found = files.each((file) =>
    [...file.rows(HOSTS_AMONG, names)].map(([host]) => ({ host: String(host), file })),
  );
  const byHost = Map.groupBy(found, ({ host }) => host);
  return new Map([...byHost].map(([host, each]) => [host, each.map(({ file }) => file)]));
}

/** The row of a host that counts, from the given files; see `holder`. */
export function heldHost(
  files: ReadFiles,
  holding: readonly StateFile[],
  host: string,
  living: readonly string[],
): Row | undefined {
  const rows = holding.flatMap((file) =>
    files.of(file, () => {
      return [...file.rows(WHOLE_HOST, host)].map((row) => namedRow(file, viewColumns.hosts, row));
    }),
  );
  return holder(rows, living);
}

/**
 * The row that counts for a host, because the file of a dead agent keeps the hosts that others have
 * taken over: that of a living agent, else that with the most URLs, else that with the latest fetch.
 */
function holder(rows: readonly Row[], living: readonly string[]): Row | undefined {
  const alive = rows.filter(({ agent }) => living.includes(String(agent)));
  const [latest] = (alive.length > 0 ? alive : rows).toSorted((a, b) => {
    const more = urlsOf(b) - urlsOf(a);
    const newer = Number(b.last_fetch_at ?? 0) - Number(a.last_fetch_at ?? 0);
    return more || newer || (String(a.agent) < String(b.agent) ? -1 : 1);
  });
  return latest;
}

/** Who takes a host over has its URLs, and finds more. */
function urlsOf({ pages_done, pages_queued }: Row): number {
  return sortedNumber(pages_done) + sortedNumber(pages_queued);
}

/**
 * @param pages - the same list of different agents, each with the same limit
 * @param living - the agents that answer; see `holder`
 */
export function mergedHosts(
  pages: readonly RowsPage[],
  query: HostsQuery,
  living: readonly string[],
): RowsPage {
  const { sort, limit } = query;
  const isName = sort === 'host';
  const all = pages.flatMap(({ rows }) =>
    rows.map((row): { row: Row; cursor: Place } => {
      return {
        row,
        cursor: [isName ? String(row.host) : sortedNumber(row[sort]), String(row.host)],
      };
    }),
  );
  all.sort(({ cursor: a }, { cursor: b }) => {
    return compare(b[0], a[0], isName) || (a[1] < b[1] ? -1 : 1);
  });
  const byHost = Map.groupBy(
    pages.flatMap(({ rows }) => rows),
    ({ host }) => host,
  );
  // Two machines may have a host: the token is behind both.
  const after = all.findIndex(({ row }, i) => i >= limit && row.host !== all[i - 1]?.row.host);
  const shown = after < 0 ? all : all.slice(0, after);
  const last = shown.at(-1);
  const isCut = after >= 0 || pages.some(({ next }) => next !== null);
  return {
    rows: shown.flatMap(({ row }) => {
      return holder(byHost.get(row.host) ?? [], living) === row ? [row] : [];
    }),
    next: isCut && last ? tokenOf(listOf(query), last.cursor) : null,
    problems: pages.flatMap(({ problems }) => problems),
  };
}

/** Names a list of hosts in its tokens. */
function listOf({ sort }: HostsQuery): string {
  return `hosts by ${sort}`;
}

function compare(a: number | string, b: number | string, isName: boolean): number {
  if (a === b) return 0;
  return a < b === isName ? 1 : -1;
}

export function namedRow(
  file: StateFile,
  columns: readonly string[],
  row: readonly unknown[],
): Row {
  const named = columns.map((name, i) => [name, plain(row[i])] as const);
  return { agent: file.agent, ...Object.fromEntries(named) };
}

/** Null for what neither an agent writes nor JSON has. */
function plain(value: unknown): string | number | null {
  if (typeof value === 'string') return value.slice(0, TEXT_MAX);
  if (typeof value !== 'bigint' && typeof value !== 'number') return null;
  return Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER ? Number(value) : null;
}

/** A value of a row as the lists are sorted by it. */
function sortedNumber(value: string | number | null | undefined): number {
  return typeof value === 'number' ? Math.max(value, -1) : -1;
}

interface Source {
  readonly config: ResolvedConfig;
  /** Only damage to its file is named. */
  readonly agent?: string | undefined;
  readonly open: OpenState;
  /** The rows of several files make one list: a host must not move while they are opened. */
  readonly isTogether?: boolean;
}

/** The open files. One that turns out to be damaged has no rows, and is named. */
export class ReadFiles {
  readonly files: StateFile[] = [];
  readonly lost = new Map<string, Unreadable>();

  each<T>(read: (file: StateFile) => readonly T[]): T[] {
    return this.files.flatMap((file) => this.of(file, () => read(file)));
  }

  of<T>(file: StateFile, read: () => readonly T[]): readonly T[] {
    try {
      return read();
    } catch (error) {
      if (!isDamage(error)) throw error;
      const { agent, path } = file;
      this.lost.set(agent, { agent, path, why: whyUnreadable(error) });
      return [];
    }
  }
}

function openedFiles(config: ResolvedConfig, open: OpenState): ReadFiles {
  const { dataDir } = config.agent;
  const files = new ReadFiles();
  for (const id of foundAgents(dataDir)) {
    const path = stateFileOf(dataDir, id);
    const opened = open(id, path);
    if (opened === null) continue;
    if (typeof opened !== 'string') files.files.push(opened);
    else files.lost.set(id, { agent: id, path, why: opened.slice(`${id}: ${path} `.length) });
  }
  return files;
}

export function withFiles(
  { config, agent, open, isTogether = false }: Source,
  read: (files: ReadFiles) => Omit<RowsPage, 'problems'>,
): RowsPage {
  const opened = () => openedFiles(config, open);
  const files = isTogether ? openTogether(config.agent.dataDir, opened) : opened();
  try {
    const found = read(files);
    const lost = [...files.lost.values()];
    const named = lost.filter((one) => agent === undefined || one.agent === agent);
    const problems = unreadableOnes(named, config);
    return { ...found, problems: problems.map(({ text, remedy }) => `${text}; ${remedy}`) };
  } finally {
    for (const file of files.files) file.close();
  }
}
