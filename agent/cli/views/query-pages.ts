// Pages of the rows of the state files on this machine, for lists that people scroll through: sorted,
// filtered, and continued after the last row rather than by its number, because rows are added all
// the time. Each request opens the files and closes them, so that none keeps an agent from truncating
// its write-ahead log.

import { z } from 'zod';
import { whyUnreadable } from '../../storage/file/reading.ts';
import { HOSTS_AMONG, HostFilter, rowsOfHost } from '../../storage/reads/monitor-queries.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import {
  foundAgents,
  isDamage,
  openStateFile,
  type StateFile,
  stateFileOf,
} from '../common/query-files.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { viewColumns } from '../state-files/query-views.ts';
import { unreadableOnes } from '../top/problems.ts';
import type { Unreadable } from '../top/unreadable-states.ts';
import type { OpenState } from './kept-copies.ts';

/** Longer than any URL. */
const TEXT_MAX = 65_536;

const rowSchema = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
type Row = Readonly<z.output<typeof rowSchema>>;

export const rowsPage = z.object({
  rows: z.array(rowSchema),
  next: z.string().nullable().meta({
    description: 'Continues after the last row; null: there are no more.',
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

/** The value by which the list is sorted, and the host, which decides between equal ones. */
type Cursor = readonly [number | string, string];

const WHOLE_HOST = rowsOfHost('hosts', viewColumns.hosts);

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
  const { sort, limit, agent } = query;
  const isName = sort === 'host';
  return withFiles({ config, agent, open }, (files) => {
    const rows: Row[] = [];
    let after = query.after === undefined ? undefined : cursorOf(query.after, isName);
    // Rows of hosts that others have taken over do not count, so one reading may give too few.
    for (;;) {
      const all = foundHosts(files, query, after);
      const filesOf = filesByHost(files, [...new Set(all.map(({ host }) => host))]);
      for (const [i, { file, host, by }] of all.entries()) {
        // Two files may have a host with the same value: the cursor is behind both.
        const isTwin = after?.[0] === by && after[1] === host;
        if (rows.length === limit && !isTwin) return { rows, next: after ? textOf(after) : null };
        if (i >= limit && !isTwin) break;
        after = [by, host];
        const held = holder(hostRows(files, filesOf.get(host) ?? [], host), living);
        if (held?.agent === file.agent) rows.push(held);
      }
      if (all.length <= limit) return { rows, next: null };
    }
  });
}

/** At least the first `limit` rows after the cursor, and one more if there are more. */
function foundHosts(files: ReadFiles, query: HostsQuery, after: Cursor | undefined) {
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

function hostRows(files: ReadFiles, holding: readonly StateFile[], host: string): Row[] {
  return holding.flatMap((file) =>
    files.of(file, () => rowsOf(file, viewColumns.hosts, WHOLE_HOST, host, 1, 0)),
  );
}

/**
 * The row that counts for a host, because the file of a dead agent keeps the hosts that others have
 * taken over: that of a living agent, else that with the latest fetch.
 */
function holder(rows: readonly Row[], living: readonly string[]): Row | undefined {
  const alive = rows.filter(({ agent }) => living.includes(String(agent)));
  const [latest] = (alive.length > 0 ? alive : rows).toSorted((a, b) => {
    const newer = Number(b.last_fetch_at ?? 0) - Number(a.last_fetch_at ?? 0);
    return newer || (String(a.agent) < String(b.agent) ? -1 : 1);
  });
  return latest;
}

/**
 * @param pages - the same list of different agents, each with the same limit
 * @param living - the agents that answer; see `holder`
 */
export function mergedHosts(
  pages: readonly RowsPage[],
  { sort, limit }: HostsQuery,
  living: readonly string[],
): RowsPage {
  const isName = sort === 'host';
  const all = pages.flatMap(({ rows }) =>
    rows.map((row): { row: Row; cursor: Cursor } => {
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
  const shown = all.slice(0, limit);
  const last = shown.at(-1);
  const isCut = all.length > limit || pages.some(({ next }) => next !== null);
  return {
    rows: shown.flatMap(({ row }) => {
      return holder(byHost.get(row.host) ?? [], living) === row ? [row] : [];
    }),
    next: isCut && last ? textOf(last.cursor) : null,
    problems: pages.flatMap(({ problems }) => problems),
  };
}

function compare(a: number | string, b: number | string, isName: boolean): number {
  if (a === b) return 0;
  return a < b === isName ? 1 : -1;
}

export type UrlView = 'pages' | 'frontier' | 'skipped';

export interface UrlsQuery {
  readonly host: string;
  readonly limit: number;
  readonly after?: string | undefined;
}

/** The URLs of one host in a view, in the order of the file of its holder. */
export function urlsPage(
  config: ResolvedConfig,
  view: UrlView,
  { host, limit, after }: UrlsQuery,
  living: readonly string[],
  open: OpenState = openStateFile,
): RowsPage {
  const columns = viewColumns[view];
  const passed = after === undefined ? 0 : passedOf(after);
  const sql = rowsOfHost(view, columns);
  return withFiles({ config, open }, (files) => {
    const held = holder(hostRows(files, files.files, host), living);
    const file = files.files.find(({ agent }) => agent === held?.agent);
    if (!file) return { rows: [], next: null };
    const rows = files.of(file, () => rowsOf(file, columns, sql, host, limit + 1, passed));
    const next = rows.length > limit ? textOf([passed + limit, host]) : null;
    return { rows: rows.slice(0, limit), next, holder: file.agent };
  });
}

function rowsOf(
  file: StateFile,
  columns: readonly string[],
  sql: string,
  ...values: readonly unknown[]
): Row[] {
  return [...file.rows(sql, ...values)].map((row) => {
    const named = columns.map((name, i) => [name, plain(row[i])] as const);
    return { agent: file.agent, ...Object.fromEntries(named) };
  });
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
}

/** The open files. One that turns out to be damaged has no rows, and is named. */
class ReadFiles {
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

function withFiles(
  { config, agent, open }: Source,
  read: (files: ReadFiles) => Omit<RowsPage, 'problems'>,
): RowsPage {
  const { dataDir } = config.agent;
  const files = new ReadFiles();
  const ids = foundAgents(dataDir);
  try {
    for (const id of ids) {
      const path = stateFileOf(dataDir, id);
      const opened = open(id, path);
      if (typeof opened !== 'string') files.files.push(opened);
      else files.lost.set(id, { agent: id, path, why: opened.slice(`${id}: ${path} `.length) });
    }
    const found = read(files);
    const lost = [...files.lost.values()];
    const named = lost.filter((one) => agent === undefined || one.agent === agent);
    const problems = unreadableOnes(named, config);
    return { ...found, problems: problems.map(({ text, remedy }) => `${text}; ${remedy}`) };
  } finally {
    for (const file of files.files) file.close();
  }
}

function passedOf(after: string): number {
  const [passed] = cursorOf(after, false);
  if (Number.isSafeInteger(passed) && Number(passed) >= 0) return Number(passed);
  throw wrongCursor();
}

function textOf(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function cursorOf(text: string, isName: boolean): Cursor {
  try {
    const [value, host]: unknown[] = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (typeof value === (isName ? 'string' : 'number') && typeof host === 'string') {
      return [value as number | string, host];
    }
  } catch {
    // Not a cursor of this list.
  }
  throw wrongCursor();
}

function wrongCursor(): HttpProblem {
  const detail = 'the value of "after" is not from an answer with the same "sort"';
  return new HttpProblem(400, 'cursor-invalid', detail, 'use "next" of the previous answer');
}
