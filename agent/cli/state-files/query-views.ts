// The views of docs/VIEWS.md over all state files: virtual tables of a database in memory, whose
// rows stream from the files. Rows of a host that one file claims, as most do, are passed through.
// The URLs of a host that several files claim are merged, one host at a time, which bounds the
// memory. SQLite can attach only ten files, so one query over attached files is not possible.

import Database from 'better-sqlite3';
import { messageOf } from '../common/exit-code.ts';
import { isDamage, type StateFile } from '../common/query-files.ts';
import { type Claim, type HostRow, mergeClaims, mergeHosts } from './query-merge.ts';

/** The columns of docs/VIEWS.md, without the first one, `agent`. */
export const viewColumns = {
  pages: [
    ...['url', 'fetch_url', 'host', 'depth', 'status', 'content_type', 'bytes', 'digest'],
    ...['fetched_at', 'duration_ms', 'error', 'redirect_to', 'referrer', 'attempts'],
    ...['warc_file', 'warc_offset', 'canonical', 'noindex', 'noarchive'],
    ...['unchanged', 'round', 'queued_again', 'skipped'],
  ],
  frontier: [
    'url',
    'host',
    'depth',
    'attempts',
    'not_before',
    'referrer',
    'round',
    'state',
    'network',
  ],
  skipped: ['url', 'host', 'reason', 'referrer', 'round', 'network'],
  hosts: [
    ...['host', 'ip', 'pages_done', 'pages_queued', 'out_of_scope', 'delay_ms', 'robots'],
    ...['last_fetch_at', 'next_fetch_at', 'state'],
  ],
  links: ['source', 'target'],
  events: ['at', 'kind', 'detail'],
  samples: [
    ...[
      'at',
      'pages',
      'queued',
      'hosts',
      'outbox',
      'pages_per_second',
      'loop_delay_ms',
      'rss_bytes',
    ],
  ],
  orders: ['kind', 'host', 'value', 'given_by', 'applied_at'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type ViewName = keyof typeof viewColumns;
/** Views whose rows are URLs of a host. */
const urlViews = ['pages', 'frontier', 'skipped'] as const;
type UrlView = (typeof urlViews)[number];
/** Index of the reason in a row of `skipped`. */
const reasonAt = 1 + viewColumns.skipped.indexOf('reason');

/** The views that a statement reads: it is not valid without them. None if it is not valid at all. */
export function viewsReadBy(sql: string): readonly string[] {
  const db = new Database(':memory:');
  const isValid = () => {
    try {
      return db.prepare(sql).reader;
    } catch {
      return false;
    }
  };
  try {
    const create = Object.entries(viewColumns).map(([view, columns]) => {
      return [view, `CREATE TABLE ${view} (agent, ${columns.join(', ')})`] as const;
    });
    for (const [, table] of create) db.exec(table);
    if (!isValid()) return [];
    return create.flatMap(([view, table]) => {
      db.exec(`DROP TABLE ${view}`);
      const isRead = !isValid();
      db.exec(table);
      return isRead ? [view] : [];
    });
  } finally {
    db.close();
  }
}

/**
 * With the views from which the URLs of a host are merged.
 *
 * @param views - those that a statement reads
 */
export function withMergedViews(views: readonly string[]): readonly string[] {
  const isByHost = views.some((view) => view === 'hosts' || urlViews.some((one) => one === view));
  return isByHost ? [...new Set([...views, ...urlViews])] : views;
}

export class ClusterViews {
  readonly #files: readonly StateFile[];
  readonly onProblem: (message: string) => void;
  readonly #ownerOf: (host: string) => string | undefined;
  /** Hosts that several files claim; null until they are needed. */
  #shared: ReadonlySet<string> | null = null;

  /**
   * @param onProblem - called for each file that turns out to be damaged while it is read
   * @param ownerOf - the current owner of a host, which decides ties between files
   */
  constructor(
    files: readonly StateFile[],
    onProblem: (message: string) => void,
    ownerOf: (host: string) => string | undefined,
  ) {
    this.#files = files;
    this.#ownerOf = ownerOf;
    this.onProblem = onProblem;
  }

  /** @returns a database in memory that has only the views, as tables */
  open(): Database.Database {
    const views = this;
    const db = new Database(':memory:');
    for (const view of Object.keys(viewColumns) as ViewName[]) {
      db.table(view, {
        columns: ['agent', ...viewColumns[view]],
        parameters: [],
        rows: function* () {
          yield* views.#rows(view) as Generator<(number | bigint | string | null)[]>;
        },
      });
    }
    return db;
  }

  close(): void {
    for (const file of this.#files) file.close();
  }

  *#rows(view: ViewName): Generator<unknown[]> {
    if (view === 'links' || view === 'events' || view === 'orders' || view === 'samples') {
      yield* this.#streamed(view, null, new Set());
      return;
    }
    const shared = this.#sharedHosts();
    const names: readonly string[] = viewColumns[view];
    yield* this.#streamed(view, 1 + names.indexOf('host'), shared);
    for (const host of shared) {
      if (view === 'hosts') yield this.#mergedHost(host);
      else yield* this.#mergedRows(view, host);
    }
  }

  /** Rows of all files one after the other, without those of `shared` hosts. */
  *#streamed(
    view: ViewName,
    hostAt: number | null,
    shared: ReadonlySet<string>,
  ): Generator<unknown[]> {
    for (const file of this.#files) {
      for (const row of this.#read(file, selectOf(view), file.agent)) {
        if (hostAt === null || !shared.has(row[hostAt] as string)) yield row;
      }
    }
  }

  #read(file: StateFile, sql: string, ...values: unknown[]): Generator<unknown[]> {
    return readRows(file, this.onProblem, sql, ...values);
  }

  #sharedHosts(): ReadonlySet<string> {
    this.#shared ??= sharedHosts(this.#files, this.onProblem);
    return this.#shared;
  }

  *#mergedRows(view: UrlView, host: string): Generator<unknown[]> {
    for (const { stands, answer } of this.#mergedClaims(host)) {
      if (viewOf(stands) === view) yield rowOf(view, stands);
      // A page that is requeued or skipped keeps its last response in `pages`.
      else if (view === 'pages' && answer) yield rowOf(view, answer, stands);
    }
  }

  #mergedHost(host: string): unknown[] {
    const counts = { done: 0, queued: 0 };
    for (const { stands } of this.#mergedClaims(host)) {
      const view = viewOf(stands);
      if (view === 'pages') counts.done++;
      if (view === 'frontier') counts.queued++;
    }
    const names = ['agent', ...viewColumns.hosts];
    const rows = this.#files.flatMap((file) => {
      const found = [...this.#read(file, `${selectOf('hosts')} WHERE host = ?`, file.agent, host)];
      return found.map((row) => Object.fromEntries(names.map((name, k) => [name, row[k]])));
    });
    const merged = mergeHosts(rows as HostRow[], counts, this.#ownerOf(host));
    return names.map((name) => merged[name]);
  }

  /** Every known URL of one host, once, with its last response. */
  #mergedClaims(host: string): Iterable<{ stands: Claim; answer: Claim | null }> {
    const byUrl = new Map<string, Claim[]>();
    for (const file of this.#files) {
      for (const view of urlViews) {
        const rows = this.#read(file, `${selectOf(view)} WHERE host = ?`, file.agent, host);
        for (const row of rows) {
          const claim = claimOf(view, row);
          const others = byUrl.get(claim.url);
          if (others) others.push(claim);
          else byUrl.set(claim.url, [claim]);
        }
      }
    }
    const owner = this.#ownerOf(host);
    return byUrl.values().map((claims) => {
      const answers = claims.filter((claim) => viewOf(claim) === 'pages');
      return {
        stands: mergeClaims(claims, owner),
        answer: answers.length > 0 ? mergeClaims(answers, owner) : null,
      };
    });
  }
}

/** Rows of one file. Damage is reported and ends them early. */
function* readRows(
  file: StateFile,
  onProblem: (message: string) => void,
  sql: string,
  ...values: unknown[]
): Generator<unknown[]> {
  try {
    yield* file.rows(sql, ...values);
  } catch (error) {
    if (!isDamage(error)) throw error;
    onProblem(`${file.agent}: read in part only: ${messageOf(error)}`);
  }
}

/**
 * The hosts that several files claim. Scans the sorted hosts of all files in parallel, so that only
 * these are in memory.
 */
export function sharedHosts(
  files: readonly StateFile[],
  onProblem: (message: string) => void,
): ReadonlySet<string> {
  const shared = new Set<string>();
  const walks = files.map((file) => {
    return readRows(file, onProblem, 'SELECT host FROM host_rows WHERE owned ORDER BY host');
  });
  const heads = walks.map((walk) => nextHost(walk));
  for (;;) {
    let least: string | null = null;
    let holders = 0;
    for (const head of heads) {
      if (head === null) continue;
      if (least === null || head < least) [least, holders] = [head, 1];
      else if (head === least) holders++;
    }
    if (least === null) return shared;
    if (holders > 1) shared.add(least);
    heads.forEach((head, k) => {
      if (head === least) heads[k] = nextHost(walks[k]!);
    });
  }
}

/** The first placeholder is the agent's identifier. */
function selectOf(view: ViewName): string {
  return `SELECT ?, ${viewColumns[view].join(', ')} FROM ${view}`;
}

function nextHost(walk: Generator<unknown[]>): string | null {
  const { value, done } = walk.next();
  return done ? null : (value[0] as string);
}

function viewOf({ state }: Claim): UrlView {
  if (state === 'queued') return 'frontier';
  return state === 'skipped' ? 'skipped' : 'pages';
}

function claimOf(view: UrlView, row: unknown[]): Claim {
  const names: readonly string[] = viewColumns[view];
  const at = (name: string) => {
    const k = names.indexOf(name);
    return k < 0 ? null : row[k + 1];
  };
  const number = (name: string) => {
    const value = at(name);
    return value === null ? null : Number(value);
  };
  const finished = at('status') === null ? 'failed' : 'response';
  return {
    agent: row[0] as string,
    url: at('url') as string,
    state: view === 'frontier' ? 'queued' : view === 'skipped' ? 'skipped' : finished,
    round: number('round') ?? 0,
    fetchedAt: number('fetched_at'),
    depth: number('depth'),
    attempts: number('attempts'),
    referrer: at('referrer') as string | null,
    row,
  };
}

/**
 * The row of a merged claim.
 *
 * @param stands - the current state of the URL if `claim` is only its last response
 */
function rowOf(view: UrlView, claim: Claim, stands = claim): unknown[] {
  const { depth, attempts, referrer } = claim;
  const merged: Readonly<Record<string, unknown>> = {
    ...{ depth, attempts, referrer, queued_again: stands.state === 'queued' ? 1n : 0n },
    skipped: stands.state === 'skipped' ? stands.row[reasonAt] : null,
  };
  const names: readonly string[] = viewColumns[view];
  return [
    claim.agent,
    ...names.map((name, k) => (name in merged ? merged[name] : claim.row[k + 1])),
  ];
}
