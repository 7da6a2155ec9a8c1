// Finds the URLs that a launch would leave out: those that are only in state files of agents that
// neither run nor are to be started. The launch would never fetch the queued ones, and would fetch the
// pages again. The comparison is made URL by URL, because the copy of a host may be old. `launch`
// refuses to start where it would leave something out. `complete.json` is not believed where agents
// that it does not name have open work.

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

/** Hosts that are named of each agent: enough to know what is meant. */
const samplesMax = 3;
/** Values of `urls.state`. */
const QUEUED = 0n;
const SKIPPED = 3n;

/** What only the file of this agent knows. */
export interface LeftOut {
  readonly agent: string;
  readonly hosts: number;
  /** URLs that nobody would fetch. */
  readonly queued: number;
  /** Finished URLs that would be fetched again, or be missing. */
  readonly pages: number;
  /** The first of the hosts. */
  readonly samples: readonly string[];
}

export interface Comparison {
  readonly leftOut: readonly LeftOut[];
  /** Files that could not be compared, each with the reason. */
  readonly unknown: readonly string[];
}

/**
 * The states among those left out that have URLs queued which nobody else knows. It passes over hosts
 * without a queue, so it is quick although a dead agent may leave many hosts behind. For the
 * parameters see `compareStates`.
 */
export function openWork(
  dataDir: string,
  crawl: string,
  crawling: readonly string[],
  { runningToo = false } = {},
): readonly LeftOut[] {
  const options = { onlyQueued: true, runningToo };
  const { leftOut } = compareStates(dataDir, crawl, crawling, options);
  return leftOut.filter(({ queued }) => queued > 0);
}

/**
 * @param crawl - its name; states of other crawls in the same directory do not count
 * @param crawling - agents whose states take part; those that run do, too, unless `runningToo`
 * @param options.onlyQueued - whether hosts without queued URLs are passed over
 * @param options.runningToo - whether agents that run and are not among `crawling` are left out
 */
export function compareStates(
  dataDir: string,
  crawl: string,
  crawling: readonly string[],
  { onlyQueued = false, runningToo = false } = {},
): Comparison {
  const unknown: string[] = [];
  const opened: StateFile[] = [];
  const open = (agent: string): StateFile[] => {
    const file = openStateFile(agent, join(dataDir, agent, 'state.sqlite'));
    if (typeof file === 'string') {
      unknown.push(file);
      return [];
    }
    opened.push(file);
    return [file];
  };
  try {
    const idle = foundAgents(dataDir).filter((agent) => !crawling.includes(agent));
    const aside = idle.filter((agent) => runningToo || !isLocked(join(dataDir, agent)));
    const left = aside.flatMap(open).filter((file) => hasPagesOf(file, crawl, unknown));
    if (left.length === 0) return { leftOut: [], unknown };
    const taking = foundAgents(dataDir).filter((agent) => !aside.includes(agent));
    // An agent whose file cannot be opened reports it when it starts.
    const others = taking.flatMap((agent) => {
      const file = openStateFile(agent, join(dataDir, agent, 'state.sqlite'));
      return typeof file === 'string' ? [] : [file];
    });
    opened.push(...others);
    const found = left.map((file) => leftOutOf(file, others, unknown, onlyQueued));
    return { leftOut: found.filter(({ hosts }) => hosts > 0), unknown };
  } finally {
    for (const file of opened) file.close();
  }
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
        // An agent that finds the URL again skips it again.
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

/** A copy of another agent. */
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

/** Of a host without open work, as a dead agent leaves many behind, the counters tell enough. */
function covers(copy: HostRow, row: HostRow): boolean {
  return row.queued === 0n && copy.round >= row.round && copy.pages >= row.pages;
}

/** The furthest that the copies of a host say of each of its URLs, by key. */
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

/** By host, the URLs that wait in the outbox and that none of the others knows. */
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
