// Finds the URLs that a launch would leave out: they are only in state files of agents that neither
// run nor are to be started. The launch would never fetch the queued ones, and would fetch the
// others again. The comparison is made URL by URL, because the copy of a host may be old.

import { join } from 'node:path';
import { AUDIT_OUTBOX } from '../../storage/reads/audit-queries.ts';
import {
  CRAWL_NAME,
  HAS_PAGES,
  HOST_BY_NAME,
  HOSTS_WITH_PAGES,
  URLS_OF_HOST,
} from '../../storage/reads/coverage-queries.ts';
import { messageOf } from '../common/exit-code.ts';
import { foundAgents, openStateFile, type StateFile } from '../common/query-files.ts';
import { isLocked } from '../common/running.ts';

/** Number of hosts that a message names as examples, so that it stays short. */
const samplesMax = 3;
/** Values of `urls.state`. */
const QUEUED = 0n;
const SKIPPED = 3n;

/** Counts of the URLs that only the state file of this agent has. */
export interface LeftOut {
  readonly agent: string;
  readonly hosts: number;
  /** URLs that no other agent would fetch. */
  readonly queued: number;
  /** Finished URLs that would be fetched again or be missing from the result. */
  readonly pages: number;
  /** The first `samplesMax` hosts. */
  readonly samples: readonly string[];
}

export interface Comparison {
  readonly leftOut: readonly LeftOut[];
  /** Sentences that name each file that could not be compared. */
  readonly unknown: readonly string[];
}

/**
 * The left-out states with queued URLs that no other agent has. Skips hosts without a queue, so it
 * is fast even if a dead agent left many hosts behind. See `compareStates` for the parameters.
 */
export function openWork(
  dataDir: string,
  crawl: string,
  crawling: readonly string[],
  { runningToo = false } = {},
): readonly LeftOut[] {
  const { leftOut } = compareStates(dataDir, crawl, crawling, { onlyQueued: true, runningToo });
  return leftOut.filter(({ queued }) => queued > 0);
}

/**
 * @param crawl - its name; states of other crawls in the same directory are ignored
 * @param crawling - agents that are not left out; unless `runningToo`, nor are those that run
 * @param options.onlyQueued - whether to skip hosts without queued URLs
 * @param options.runningToo - whether running agents outside `crawling` count as left out
 */
export function compareStates(
  dataDir: string,
  crawl: string,
  crawling: readonly string[],
  { onlyQueued = false, runningToo = false } = {},
): Comparison {
  const unknown: string[] = [];
  const opened: StateFile[] = [];
  const open = (agents: readonly string[], problems: string[]): StateFile[] => {
    const files: StateFile[] = [];
    for (const agent of agents) {
      const file = openStateFile(agent, join(dataDir, agent, 'state.sqlite'));
      if (typeof file === 'string') problems.push(file);
      else files.push(file);
    }
    opened.push(...files);
    return files;
  };
  try {
    const agents = foundAgents(dataDir);
    const aside = agents.filter((agent) => {
      return !crawling.includes(agent) && (runningToo || !isLocked(join(dataDir, agent)));
    });
    const left = open(aside, unknown).filter((file) => hasPagesOf(file, crawl, unknown));
    if (left.length === 0) return { leftOut: [], unknown };
    // The agents themselves report files that cannot be opened.
    const taking = agents.filter((agent) => !aside.includes(agent));
    const others = open(taking, []);
    const found = left.map((file) => leftOutOf(file, others, unknown, onlyQueued));
    return { leftOut: found.filter(({ hosts }) => hosts > 0), unknown };
  } finally {
    for (const file of opened) file.close();
  }
}

/** Agents that have URLs of the crawl in this directory, except those that are started. */
export function statesBeside(
  dataDir: string,
  crawl: string,
  started: readonly string[],
): readonly string[] {
  return foundAgents(dataDir).filter((agent) => {
    if (started.includes(agent)) return false;
    const file = openStateFile(agent, join(dataDir, agent, 'state.sqlite'));
    if (typeof file === 'string') return false;
    try {
      return hasPagesOf(file, crawl, []);
    } finally {
      file.close();
    }
  });
}

function hasPagesOf(file: StateFile, crawl: string, unknown: string[]): boolean {
  try {
    const [[name] = []] = file.plainRows(CRAWL_NAME);
    if (name !== crawl) return false;
    const [[has] = []] = file.plainRows(HAS_PAGES);
    return has === 1;
  } catch (error) {
    unknown.push(`${file.agent}: ${file.path} cannot be compared (${messageOf(error)})`);
    return false;
  }
}

interface HostRow {
  readonly host: string;
  readonly number: bigint;
  readonly queued: bigint;
  readonly pages: bigint;
  readonly round: bigint;
}

/** How far one state file is with a URL. */
type Standing = { readonly round: bigint; readonly isDone: boolean };

function leftOutOf(
  file: StateFile,
  others: readonly StateFile[],
  unknown: string[],
  onlyQueued: boolean,
): LeftOut {
  const hosts = new Set<string>();
  let [queued, pages] = [0, 0];
  try {
    for (const values of file.rows(HOSTS_WITH_PAGES)) {
      const row = hostRow(values);
      if (onlyQueued && row.queued === 0n) continue;
      const copies = copiesOf(row.host, others);
      if (copies.some(({ of }) => covers(of, row))) continue;
      const known = urlsOf(copies);
      for (const [key, round, state] of file.rows(URLS_OF_HOST, row.number)) {
        // If another agent finds the URL, it skips it as well.
        if (state === SKIPPED) continue;
        const here = { round: round as bigint, isDone: state !== QUEUED };
        if (isAsFar(known.get(key as string), here)) continue;
        hosts.add(row.host);
        if (here.isDone) pages++;
        else queued++;
      }
    }
    for (const [host, count] of onTheWay(file, others)) {
      hosts.add(host);
      queued += count;
    }
  } catch (error) {
    unknown.push(`${file.agent}: ${file.path} cannot be compared (${messageOf(error)})`);
  }
  const samples = [...hosts].slice(0, samplesMax);
  return { agent: file.agent, hosts: hosts.size, queued, pages, samples };
}

function hostRow([host, number, queued, pages, round]: unknown[]): HostRow {
  const [n, q, p, r] = [number, queued, pages, round] as bigint[];
  return { host: host as string, number: n!, queued: q!, pages: p!, round: r! };
}

/** The row of a host in the state file of another agent. */
interface Copy {
  readonly file: StateFile;
  readonly of: HostRow;
}

function copiesOf(host: string, others: readonly StateFile[]): readonly Copy[] {
  return others.flatMap((file) => {
    const [row] = [...file.rows(HOST_BY_NAME, host)];
    return row === undefined ? [] : [{ file, of: hostRow(row) }];
  });
}

/** Compares counters only, which is enough for a host without a queue, the most frequent case. */
function covers(copy: HostRow, row: HostRow): boolean {
  return row.queued === 0n && copy.round >= row.round && copy.pages >= row.pages;
}

/** The furthest state of each URL of a host among its copies, by key. */
function urlsOf(copies: readonly Copy[]): ReadonlyMap<string, Standing> {
  const known = new Map<string, Standing>();
  for (const { file, of } of copies) {
    for (const [key, round, state] of file.rows(URLS_OF_HOST, of.number)) {
      const there = { round: round as bigint, isDone: state !== QUEUED };
      if (!isAsFar(known.get(key as string), there)) known.set(key as string, there);
    }
  }
  return known;
}

function isAsFar(known: Standing | undefined, as: Standing): boolean {
  if (known === undefined) return false;
  return known.round > as.round || (known.round === as.round && (known.isDone || !as.isDone));
}

/** Numbers of URLs, by host, that are in the outbox and that no other agent has. */
function onTheWay(file: StateFile, others: readonly StateFile[]): ReadonlyMap<string, number> {
  const unknown = new Map<string, Set<string>>();
  let at: { host: string; known: ReadonlyMap<string, Standing> } = { host: '', known: new Map() };
  for (const [host, key] of file.rows(AUDIT_OUTBOX) as IterableIterator<[string, string]>) {
    if (at.host !== host) at = { host, known: urlsOf(copiesOf(host, others)) };
    if (at.known.has(key)) continue;
    unknown.set(host, (unknown.get(host) ?? new Set()).add(key));
  }
  for (const other of unknown.size > 0 ? others : []) {
    for (const [host, key] of other.rows(AUDIT_OUTBOX) as IterableIterator<[string, string]>) {
      unknown.get(host)?.delete(key);
    }
  }
  const counts = [...unknown].map(([host, keys]) => [host, keys.size] as const);
  return new Map(counts.filter(([, count]) => count > 0));
}
