// Every URL that any state file knows, once, with all that the files have of it: rows of owners,
// rows of copies, entries of outboxes. Each file is read by two streams sorted by host and key, all
// streams are walked side by side, and nothing is kept beyond the present URL, so that ten million
// URLs take no more memory than ten. Read from the tables, not from the views, since what no view
// shows is what an audit is for. Called by `audit-command.ts`; `audit-tally.ts` judges.

import { AUDIT_OUTBOX, AUDIT_ROWS } from '../../storage/reads/audit-queries.ts';
import { messageOf } from '../common/exit-code.ts';
import { isDamage, type StateFile } from '../common/query-files.ts';

/** A host in one file. */
export interface FileHost {
  readonly agent: string;
  /** Whether the views of that file show it as the agent's. */
  readonly owned: boolean;
  /** The counters kept beside the rows. */
  readonly queued: number;
  readonly pages: number;
}

/** A URL in one file, as stored. */
export interface StoredRow {
  readonly agent: string;
  /** 0 queued, 1 response, 2 failed, 3 skipped. */
  readonly state: number;
  readonly round: number;
  readonly settled: boolean;
  /** Of a skip. */
  readonly reason: string | null;
  /** Of the page record; null where there is none. */
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
  /** Agents in whose outbox it waits. */
  readonly onTheWayFrom: readonly string[];
}

export interface WalkedHost {
  readonly host: string;
  readonly files: readonly FileHost[];
  /** In order of their keys; to be taken to the end before the next host. */
  readonly urls: Iterable<WalkedUrl>;
}

/** Thrown where a file turns out to be damaged while it is read. */
export class DamagedFile extends Error {
  readonly agent: string;

  /** @param why - what SQLite says */
  constructor(file: StateFile, why: string) {
    super(`${file.agent}: ${file.path} is damaged (${why})`);
    this.agent = file.agent;
  }
}

/** A sorted stream with its next row at hand. */
class Stream {
  readonly agent: string;
  readonly #file: StateFile;
  readonly #rows: IterableIterator<unknown[]>;
  /** Null at the end. */
  head: readonly unknown[] | null = null;

  constructor(file: StateFile, sql: string) {
    this.agent = file.agent;
    this.#file = file;
    this.#rows = file.plainRows(sql);
    this.advance();
  }

  /** Null at the end. */
  get host(): string | null {
    return this.head && (this.head[0] as string);
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

/** All hosts of all files in order. @throws DamagedFile */
export function* walkHosts(files: readonly StateFile[]): Generator<WalkedHost> {
  const tables = files.map((file) => new Stream(file, AUDIT_ROWS));
  const boxes = files.map((file) => new Stream(file, AUDIT_OUTBOX));
  for (;;) {
    const host = least([...tables, ...boxes].map((stream) => stream.host));
    if (host === null) return;
    const at = tables.filter((stream) => stream.host === host);
    const files = at.map(({ agent, head }) => {
      const [, owned, queued, pages] = head as [string, number, number, number];
      return { agent, owned: owned === 1, queued, pages };
    });
    const urls = walkUrls(
      host,
      at,
      boxes.filter((stream) => stream.host === host),
    );
    yield { host, files, urls };
  }
}

function* walkUrls(
  host: string,
  tables: readonly Stream[],
  boxes: readonly Stream[],
): Generator<WalkedUrl> {
  // A host of which nothing but its row is known has no key.
  for (const stream of tables) {
    if (stream.host === host && stream.head![4] === null) stream.advance();
  }
  const keyOf = (stream: Stream, column: number) =>
    stream.host === host ? (stream.head![column] as string) : null;
  for (;;) {
    const keys = [
      ...tables.map((stream) => keyOf(stream, 4)),
      ...boxes.map((stream) => keyOf(stream, 1)),
    ];
    const key = least(keys);
    if (key === null) return;
    const rows: StoredRow[] = [];
    for (const stream of tables) {
      if (keyOf(stream, 4) !== key) continue;
      rows.push(rowOf(stream));
      stream.advance();
    }
    const onTheWayFrom: string[] = [];
    for (const stream of boxes) {
      if (keyOf(stream, 1) !== key) continue;
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

/** In the order of SQLite's: all are ASCII. */
function least(texts: readonly (string | null)[]): string | null {
  let first: string | null = null;
  for (const text of texts) if (text !== null && (first === null || text < first)) first = text;
  return first;
}
