// The contents of an agent's state file, read like any external reader by a read-only connection:
// while the agent runs, after its death and after its end. Chaos tests use it for the agent's
// progress, its events and the integrity of its file.

import fs from 'node:fs';
import Database from 'better-sqlite3';

export interface AgentEvent {
  /** Unix milliseconds. */
  readonly at: number;
  readonly kind: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The contents of the views for the hosts that the agent owns. */
export interface AgentState {
  readonly pages: readonly { url: string; status: number | null; error: string | null }[];
  readonly frontier: readonly string[];
  readonly skipped: readonly { url: string; reason: string }[];
  readonly hosts: readonly string[];
  /** URLs found here that their owners have not received yet. */
  readonly outbox: readonly string[];
}

/** A writer may hold the file for a moment. */
const busyMs = 5_000;

export class StateFile {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** Opens the file for reading. The caller closes it. */
  open(): Database.Database {
    return new Database(this.#file, { readonly: true, timeout: busyMs });
  }

  exists(): boolean {
    return fs.existsSync(this.#file);
  }

  /** `ok`, or the damage that SQLite finds. */
  integrity(): string {
    return this.#read((db) => String(db.pragma('integrity_check(1)', { simple: true })));
  }

  /** Oldest first; empty if there is no file yet. */
  events(kind?: string): AgentEvent[] {
    if (!this.exists()) return [];
    const rows = this.#rows<{ at: number; kind: string; detail: string }>(
      'SELECT at, kind, detail FROM events',
    );
    return rows
      .filter((row) => kind === undefined || row.kind === kind)
      .map(({ at, kind, detail }) => ({ at, kind, detail: JSON.parse(detail) }));
  }

  /** The times of the samples of its counters, oldest first. */
  sampledAt(): number[] {
    return this.#rows<{ at: number }>('SELECT at FROM samples').map(({ at }) => at);
  }

  state(): AgentState {
    const urls = (sql: string) => this.#rows<{ url: string }>(sql).map(({ url }) => url);
    return {
      pages: this.#rows('SELECT url, status, error FROM pages'),
      frontier: urls('SELECT url FROM frontier'),
      skipped: this.#rows('SELECT url, reason FROM skipped'),
      hosts: urls('SELECT host AS url FROM hosts'),
      outbox: urls('SELECT url FROM outbox'),
    };
  }

  /** Empty if the agent has not created its tables yet. */
  #rows<Row>(sql: string): Row[] {
    return this.#read((db) => {
      const tables = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'events'").all();
      return tables.length === 0 ? [] : (db.prepare(sql).all() as Row[]);
    });
  }

  #read<T>(ask: (db: Database.Database) => T): T {
    const db = this.open();
    try {
      return ask(db);
    } finally {
      db.close();
    }
  }
}
