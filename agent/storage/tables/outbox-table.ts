// URLs for other agents, kept until their owners have acknowledged them, so neither a crash nor an
// unreachable peer loses any. Each entry has the owner of the present view; after a change of the
// view the entries are checked one by one. Routing of found links and hosts that changed owner fill
// the outbox, acknowledgements empty it, and its size slows the visits.

import type { OutboxEntry, PlacedEntry } from '../../core/protocol/core-store.ts';
import type { AgentId, Host, UrlItem } from '../../core/protocol/messages.ts';
import type { Connection } from '../encoding/connection.ts';

interface OutboxRow {
  readonly id: number;
  readonly url: string;
  readonly depth: number;
  readonly attempts: number;
  readonly fetchUrl: string | null;
  readonly referrer: string | null;
  readonly sitemap: number;
}

const COLUMNS = 'id, url, depth, attempts, fetch_url AS fetchUrl, referrer, sitemap';

export class OutboxTable {
  readonly #s: ReturnType<typeof statements>;
  /** Owners without entries, usually most peers; saves a query for each of them in every turn. */
  readonly #idle = new Set<AgentId>();
  #count: number;

  constructor(db: Connection) {
    this.#s = statements(db);
    this.#count = this.#s.count.get() ?? 0;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * An existing entry gets the smaller depth, the greater number of attempts and the sitemap flag.
   *
   * @returns the id of the new or existing entry
   */
  add(host: Host, owner: AgentId, item: UrlItem): number {
    const { changes, lastInsertRowid } = this.#s.insert.run(
      item.url,
      host,
      owner,
      item.depth,
      item.attempts ?? 0,
      item.fetchUrl ?? null,
      item.referrer ?? null,
      item.sitemap ? 1 : 0,
    );
    if (changes > 0) {
      this.#count++;
      this.#idle.delete(owner);
      return Number(lastInsertRowid);
    }
    const { depth, attempts = 0, url } = item;
    this.#s.merge.run({ depth, attempts, sitemap: item.sitemap ? 1 : 0, url });
    return this.#s.idOf.get(item.url)!;
  }

  last(): number {
    return this.#s.last.get() ?? 0;
  }

  first(): number | null {
    return this.#count === 0 ? null : (this.#s.first.get() ?? null);
  }

  of(owner: AgentId, max: number, upTo: number): OutboxEntry[] {
    if (this.#idle.has(owner)) return [];
    const entries = this.#s.of.all(owner, upTo, max).map(entryOf);
    if (entries.length === 0 && upTo >= this.last()) this.#idle.add(owner);
    return entries;
  }

  after(id: number, max: number): PlacedEntry[] {
    const rows = this.#count === 0 ? [] : this.#s.after.all(id, max);
    return rows.map((row) => ({ ...entryOf(row), host: row.host, owner: row.owner }));
  }

  reroute(id: number, owner: AgentId): void {
    this.#s.reroute.run(owner, id);
    this.#idle.delete(owner);
  }

  rerouteHost(host: Host, from: AgentId, to: AgentId): void {
    this.#s.rerouteHost.run(to, from, host);
    this.#idle.delete(to);
  }

  remove(ids: readonly number[]): void {
    for (const id of ids) this.#count -= this.#s.remove.run(id).changes;
  }

  removeTaken(sent: readonly OutboxEntry[]): number[] {
    const taken = sent.map(({ id, item }) => [id, item.depth, item.sitemap ? 1 : 0]);
    const removed = this.#s.removeTaken.all(JSON.stringify(taken));
    this.#count -= removed.length;
    return removed;
  }
}

function entryOf(row: OutboxRow): OutboxEntry {
  const { id, url, depth, attempts, fetchUrl, referrer, sitemap } = row;
  const item: UrlItem = {
    url,
    depth,
    ...(attempts === 0 ? {} : { attempts }),
    ...(fetchUrl === null ? {} : { fetchUrl }),
    ...(referrer === null ? {} : { referrer }),
    ...(sitemap === 0 ? {} : { sitemap: true }),
  };
  return { id, item };
}

function statements(db: Connection) {
  return {
    insert: db.prepare<
      [string, string, string, number, number, string | null, string | null, number]
    >(
      `INSERT OR IGNORE INTO outbox
         (url, host, owner, depth, attempts, fetch_url, referrer, sitemap)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    merge: db.prepare<[{ depth: number; attempts: number; sitemap: number; url: string }]>(
      `UPDATE outbox SET depth = min(depth, $depth), attempts = max(attempts, $attempts),
         sitemap = max(sitemap, $sitemap)
       WHERE url = $url AND (depth > $depth OR attempts < $attempts OR sitemap < $sitemap)`,
    ),
    idOf: db.prepare<[string], number>('SELECT id FROM outbox WHERE url = ?').pluck(),
    count: db.prepare<[], number>('SELECT count(*) FROM outbox').pluck(),
    last: db.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").pluck(),
    first: db.prepare<[], number | null>('SELECT min(id) FROM outbox').pluck(),
    of: db.prepare<[string, number, number], OutboxRow>(
      `SELECT ${COLUMNS} FROM outbox WHERE owner = ? AND id <= ? ORDER BY id LIMIT ?`,
    ),
    after: db.prepare<[number, number], OutboxRow & { host: string; owner: string }>(
      `SELECT ${COLUMNS}, host, owner FROM outbox WHERE id > ? ORDER BY id LIMIT ?`,
    ),
    reroute: db.prepare<[string, number]>('UPDATE outbox SET owner = ? WHERE id = ?'),
    rerouteHost: db.prepare<[string, string, string]>(
      'UPDATE outbox SET owner = ? WHERE owner = ? AND host = ?',
    ),
    remove: db.prepare<[number]>('DELETE FROM outbox WHERE id = ?'),
    removeTaken: db
      .prepare<[string], number>(
        `DELETE FROM outbox WHERE id IN (
           SELECT o.id FROM json_each(?) s CROSS JOIN outbox o ON o.id = s.value ->> 0
           WHERE o.depth >= s.value ->> 1 AND o.sitemap <= s.value ->> 2)
         RETURNING id`,
      )
      .pluck(),
  };
}
