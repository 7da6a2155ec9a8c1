// URLs that were skipped by rules that may change: URLs out of scope and URLs of blocked hosts. A
// partial index has only these URLs, by host in the order in which they were settled, so a crawl
// without such URLs has no cost.

import type { ShutUrl } from '../../core/protocol/core-store.ts';
import type { Host, UrlItem } from '../../core/protocol/messages.ts';
import { identityOf, keyOf } from '../../url/url-key.ts';
import type { Connection } from '../encoding/connection.ts';
import { hostOfId, type UrlIds } from '../encoding/url-ids.ts';
import type { HostTable } from '../tables/host-table.ts';
import type { RefreshTable } from './refresh-table.ts';

/** Reasons of skips that a change of the rules may undo. */
const REASONS: ReadonlySet<string> = new Set(['scope', 'blocked']);
/** SQL: the condition of the index `shut`; queries must repeat it exactly. */
const IS_SHUT = "state = 3 AND reason IN ('scope', 'blocked')";

/** A step of `migrations.ts`. */
export const SHUT_URLS = `
CREATE INDEX shut ON urls (${hostOfId('id')}, done) WHERE ${IS_SHUT};
`;

interface ShutRow {
  readonly key: string;
  readonly fetchUrl: string | null;
  readonly depth: number;
  readonly done: number;
  readonly reason: 'scope' | 'blocked';
}

export class ShutUrls {
  readonly #hosts: HostTable;
  readonly #ids: UrlIds;
  readonly #refresh: RefreshTable;
  readonly #s: ReturnType<typeof statements>;
  /** Whether there may be any such URL; saves a query of a microsecond for each host. */
  some: boolean;

  constructor(db: Connection, hosts: HostTable, ids: UrlIds, refresh: RefreshTable) {
    this.#hosts = hosts;
    this.#ids = ids;
    this.#refresh = refresh;
    this.#s = statements(db);
    this.some = this.#s.any.get() !== undefined;
  }

  /** To be called when a URL was skipped here or by another agent. */
  skipped(reason: string | null | undefined): void {
    if (reason && REASONS.has(reason)) this.some = true;
  }

  of(host: Host, after: number, max: number): ShutUrl[] {
    const row = this.#hosts.find(host);
    if (!row) return [];
    return this.#s.of.all(row.number, after, max).map(({ key, fetchUrl, depth, done, reason }) => {
      const url = identityOf(host, key);
      const item: UrlItem = { url, depth, ...(fetchUrl !== null && { fetchUrl }) };
      return { item, reason, n: done };
    });
  }

  /** Requeues the URL if it was skipped by such a rule. */
  reopen(host: Host, url: string): void {
    const row = this.#hosts.find(host);
    const id = row ? this.#ids.find(row.number, keyOf(url, host)) : -1;
    const known = this.#s.row.get(id);
    if (row && known) this.#refresh.reopen(row, known);
  }
}

function statements(db: Connection) {
  return {
    any: db.prepare<[], unknown>(`SELECT 1 FROM urls INDEXED BY shut WHERE ${IS_SHUT} LIMIT 1`),
    of: db.prepare<[number, number, number], ShutRow>(
      `SELECT key, fetch_url AS fetchUrl, depth, done, reason FROM urls INDEXED BY shut
       WHERE ${hostOfId('id')} = ? + 0 AND done > ? AND ${IS_SHUT} ORDER BY done LIMIT ?`,
    ),
    row: db.prepare<[number], { id: number; state: number; round: number }>(
      `SELECT id, state, round FROM urls WHERE id = ? AND ${IS_SHUT}`,
    ),
  };
}
