// Reads every URL of all state files once, with its rows at owners and backups and its outbox entries.
// Two streams per file, sorted by host and key, are merged, so memory does not grow with the number of
// URLs. They read the tables, because an audit must find rows that no view shows.

import { AUDIT_OUTBOX, AUDIT_ROWS } from '../../storage/reads/audit-queries.ts';
import { messageOf } from '../common/exit-code.ts';
import { isDamage, type StateFile } from '../common/query-files.ts';

/** A host in one state file. */
export interface FileHost {
  readonly agent: string;
  /** Whether the views of the file show the host as the agent's own. */
  readonly owned: boolean;
  /** Stored counters of queued URLs and of fetched pages. */
  readonly queued: number;
  readonly pages: number;
}

/** The row of a URL in one state file. */
export interface StoredRow {
  readonly agent: string;
  /** 0 queued, 1 response, 2 failed, 3 skipped. */
  readonly state: number;
  readonly round: number;
  readonly settled: boolean;
  /** Why it was skipped; of a queued URL, the network that has claimed it. */
  readonly reason: string | null;
  /** The page record; null if there is none. */
  readonly record: {
    readonly status: number | null;
    readonly error: string | null;
    readonly fetchedAt: number;
  } | null;
}

export interface WalkedUrl {
  /** The identity without its host. */
  readonly key: string;
  readonly rows: readonly StoredRow[];
  /** Agents that have it in their outbox. */
  readonly onTheWayFrom: readonly string[];
}

export interface WalkedHost {
  readonly host: string;
  readonly files: readonly FileHost[];
  /** Sorted by key; must be read to the end before the next host. */
  readonly urls: Iterable<WalkedUrl>;
}

/** SQLite found damage while it read the file. */
export class DamagedFile extends Error {
  readonly agent: string;

  /** @param why - SQLite's message */
  constructor(file: StateFile, why: string) {
    super(`${file.agent}: ${file.path} is damaged (${why})`);
    this.agent = file.agent;
  }
}

/** Rows of one file, sorted by host and key, with one row of look-ahead. */
class Stream {
  readonly agent: string;
  readonly #file: StateFile;
  readonly #rows: IterableIterator<unknown[]>;
  readonly #keyColumn: number;
  /** The next row; null at the end. */
  head: readonly unknown[] | null = null;

  constructor(file: StateFile, sql: string, keyColumn: number) {
    this.agent = file.agent;
    this.#file = file;
    this.#rows = file.plainRows(sql);
    this.#keyColumn = keyColumn;
    this.advance();
  }

  /** Host of the next row; null at the end. */
  get host(): string | null {
    return this.head && (this.head[0] as string);
  }

  /** Key of the next row; null if that is not of the host. */
  keyAt(host: string): string | null {
    return this.host === host ? (this.head![this.#keyColumn] as string | null) : null;
  }

  advance(): void {
    try {
      const { value, done } = this.#rows.next();
      this.head = done ? null : value;
    } catch (error) {
      throw isDamage(error) ? new DamagedFile(this.#file, messageOf(error)) : error;
    }
  }
}

/** All hosts of all files, sorted. @throws DamagedFile */
export function* walkHosts(files: readonly StateFile[]): Generator<WalkedHost> {
  const tables = files.map((file) => new Stream(file, AUDIT_ROWS, 4));
  const outboxes = files.map((file) => new Stream(file, AUDIT_OUTBOX, 1));
  for (;;) {
    const host = least([...tables, ...outboxes].map((stream) => stream.host));
    if (host === null) return;
    const at = tables.filter((stream) => stream.host === host);
    const files = at.map(({ agent, head }) => {
      const [, owned, queued, pages] = head as [string, number, number, number];
      return { agent, owned: owned === 1, queued, pages };
    });
    const boxes = outboxes.filter((stream) => stream.host === host);
    yield { host, files, urls: walkUrls(host, at, boxes) };
  }
}

function* walkUrls(
  host: string,
  tables: readonly Stream[],
  boxes: readonly Stream[],
): Generator<WalkedUrl> {
  // A host without URLs has one row, with a null key.
  for (const stream of tables) if (stream.keyAt(host) === null) stream.advance();
  const streams = [...tables, ...boxes];
  for (;;) {
    const key = least(streams.map((stream) => stream.keyAt(host)));
    if (key === null) return;
    const rows: StoredRow[] = [];
    for (const stream of tables) {
      if (stream.keyAt(host) !== key) continue;
      rows.push(rowOf(stream));
      stream.advance();
    }
    const onTheWayFrom: string[] = [];
    for (const stream of boxes) {
      if (stream.keyAt(host) !== key) continue;
      onTheWayFrom.push(stream.agent);
      stream.advance();
    }
    yield { key, rows, onTheWayFrom };
  }
}

function rowOf({ agent, head }: Stream): StoredRow {
  const [state, settled, reason, found, status, fetchedAt, round, error] = head!.slice(5);
  return {
    agent,
    state: state as number,
    round: round as number,
    settled: settled === 1,
    reason: reason as string | null,
    record:
      found === null
        ? null
        : {
            status: status as number | null,
            error: error as string | null,
            fetchedAt: fetchedAt as number,
          },
  };
}

/** Code units compare as SQLite compares: hosts and keys are ASCII. */
function least(texts: readonly (string | null)[]): string | null {
  let first: string | null = null;
  for (const text of texts) if (text !== null && (first === null || text < first)) first = text;
  return first;
}
