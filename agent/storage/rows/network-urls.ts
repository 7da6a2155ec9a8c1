// The URLs of this agent as other networks see them (docs/NETWORKS.md): those that wait for a verdict
// and those that another network has claimed, both with a `not_before` beyond all times, so that they
// block no other URL of their host; and reports that the network's Redis has not confirmed yet.

import { identityOf, splitIdentity } from '../../url/url-key.ts';
import type { Connection } from '../encoding/connection.ts';
import { ASKING, CLAIMED_ELSEWHERE, COPIED } from '../encoding/network-places.ts';
import { longUrl } from '../encoding/page-columns.ts';
import { hostNumberOf, hostOfId, idRangeOf, referrerOf, type UrlIds } from '../encoding/url-ids.ts';
import type { HostRow, HostTable } from '../tables/host-table.ts';

/** A settled page, or a URL that was given up unfetched. */
export interface UrlReport {
  readonly identity: string;
  readonly kind: 'finished' | 'released';
  /** If the store knows it. */
  readonly id?: number;
}

/** What has happened since the last look; the store has the rest if `hasMore`. */
interface NetworkNews {
  /** URLs that wait for a verdict. */
  readonly waiting: string[];
  readonly reports: UrlReport[];
  hasMore: boolean;
}

/** Bound of each list. */
const NEWS_MAX = 2000;
const SKIPPED = 3;

interface NamedRow {
  readonly id: number;
  readonly key: string;
}

export interface SettledRow {
  readonly key: string;
  readonly state: number;
}

export class NetworkUrls {
  readonly #hosts: HostTable;
  readonly #ids: UrlIds;
  readonly #s: ReturnType<typeof statements>;
  #news: NetworkNews = { waiting: [], reports: [], hasMore: true };

  constructor(db: Connection, hosts: HostTable, ids: UrlIds) {
    this.#hosts = hosts;
    this.#ids = ids;
    this.#s = statements(db);
  }

  /** The `not_before` of a queued URL that is new here. */
  placeOf({ owned, host }: HostRow, key: string): number {
    if (owned === 0) return COPIED;
    const { waiting } = this.#news;
    if (waiting.length < NEWS_MAX) waiting.push(identityOf(host, key));
    else this.#news.hasMore = true;
    return ASKING;
  }

  /**
   * This agent has become the owner: it asks about the host's URLs, of which it had copies, and
   * reports the settled ones, which the last owner may not have reported.
   */
  taken({ number }: HostRow): void {
    const { first, last } = idRangeOf(number);
    const waiting = this.#s.taken.run(number).changes;
    const settled = this.#s.reportAll.run(first, last).changes;
    if (waiting + settled > 0) this.#news.hasMore = true;
  }

  /** The URL was given up, and is queued again: it is not released. Returns its `not_before`. */
  queuedAgain(host: HostRow, id: number, key: string): number {
    this.#s.unreport.run(id);
    return this.placeOf(host, key);
  }

  takeNews(): NetworkNews {
    const news = this.#news;
    this.#news = { waiting: [], reports: [], hasMore: false };
    return news;
  }

  /** The first URLs that wait for a verdict. */
  more(max: number): string[] {
    return this.#waiting(ASKING, 0, max);
  }

  /** URLs that other networks have claimed and not finished, after `after`. */
  elsewhere(after: string | null, max: number): string[] {
    const from = after === null ? 0 : this.#idOf(after) + 1;
    return this.#waiting(CLAIMED_ELSEWHERE, from, max);
  }

  #waiting(place: number, from: number, max: number): string[] {
    // This turn may have changed which hosts are this agent's.
    this.#hosts.flush();
    return this.#named(this.#s.waiting.all(place, from, max));
  }

  #named(rows: readonly NamedRow[]): string[] {
    return rows.map(({ id, key }) => identityOf(this.#hosts.numbered(hostNumberOf(id)).host, key));
  }

  #idOf(identity: string): number {
    const parts = splitIdentity(identity);
    const row = parts && this.#hosts.find(parts.host);
    return row ? this.#ids.find(row.number, parts.key) : -1;
  }

  /** False, without effect, if the URL has a verdict. */
  accept(identity: string): boolean {
    return this.#decide(identity, (id, key) => this.#s.place.run(0, null, id, key)) !== null;
  }

  /** False, without effect, if the URL has a verdict. */
  postpone(identity: string, network: string): boolean {
    const postpone = (id: number, key: string) =>
      this.#s.place.run(CLAIMED_ELSEWHERE, network, id, key);
    return this.#decide(identity, postpone) !== null;
  }

  /**
   * Another network has the page: the URL is skipped and settled.
   *
   * @returns null, without effect, if the URL has a verdict
   */
  end(identity: string, network: string, n: number): { row: HostRow; id: number } | null {
    return this.#decide(identity, (id, key) => this.#s.end.run(n, `elsewhere ${network}`, id, key));
  }

  /** @param run - changes the row if it has that key and no verdict */
  #decide(
    identity: string,
    run: (id: number, key: string) => { readonly changes: number },
  ): { row: HostRow; id: number } | null {
    const parts = splitIdentity(identity);
    const row = parts && this.#hosts.find(parts.host);
    if (!row) return null;
    const { key } = parts;
    const first = this.#ids.firstPlace(row.number, key);
    if (run(first, key).changes > 0) return { row, id: first };
    const id = this.#ids.find(row.number, key);
    if (id < 0 || id === first || run(id, key).changes === 0) return null;
    return { row, id };
  }

  /** Queued URLs of a host become claimed by another network, which takes them over. */
  give(host: string, network: string, max: number) {
    const row = this.#hosts.find(host);
    if (row === undefined || row.owned === 0) return [];
    return this.#s.plain.all(row.number, max).map(({ id, key, depth, referrer, sitemap }) => {
      this.#s.give.run(network, id);
      return {
        ...{ url: identityOf(host, key), depth },
        ...(referrer !== null && { referrer: longUrl(referrer, host) }),
        ...(sitemap > 0 && { sitemap: true }),
      };
    });
  }

  /** The URL is settled here. Pages that other networks have are not reported. */
  settled(row: HostRow, id: number): void {
    const settled = row.owned === 0 ? undefined : this.#s.own.get(id);
    if (settled) this.report(row, id, settled);
  }

  /** The URL is settled here, and not because another network has the page. */
  report({ owned, host }: HostRow, id: number, { key, state }: SettledRow): void {
    if (owned === 0 || this.#s.report.run(id).changes === 0) return;
    const { reports } = this.#news;
    const kind = state === SKIPPED ? 'released' : 'finished';
    if (reports.length < NEWS_MAX) reports.push({ identity: identityOf(host, key), kind, id });
    else this.#news.hasMore = true;
  }

  /** Whether the URL was given up unfetched here. */
  isGivenUp(identity: string): boolean {
    return this.#s.state.get(this.#idOf(identity)) === SKIPPED;
  }

  /** What a claim of the URL is for. */
  standingOf(identity: string): 'queued' | 'finished' | 'other' | 'moved' {
    const parts = splitIdentity(identity);
    // Other programs can write to Redis.
    if (parts === null) return 'other';
    if (!this.#hosts.find(parts.host)?.owned) return 'moved';
    const url = this.#s.standing.get(this.#idOf(identity));
    if (!url || url.state === SKIPPED || url.notBefore === CLAIMED_ELSEWHERE) return 'other';
    return url.state === 0 ? 'queued' : 'finished';
  }

  unreported(max: number): UrlReport[] {
    return this.#s.unreported.all(max).map(({ id, key, isFinished }) => ({
      identity: identityOf(this.#hosts.numbered(hostNumberOf(id)).host, key),
      kind: isFinished > 0 ? 'finished' : 'released',
      id,
    }));
  }

  reported(reports: readonly UrlReport[]): void {
    const ids = reports.map(({ identity, id }) => id ?? this.#idOf(identity));
    this.#s.reported.run(JSON.stringify(ids));
  }

  /** The queued ones of these URLs wait for a verdict again. */
  askAgain(identities: readonly string[]): void {
    for (const identity of identities) this.#s.askAgain.run(this.#idOf(identity));
    this.#news.hasMore = true;
  }

  /** About `max` URLs of this agent's hosts that have ended or are queued here. */
  fill(from: string | null, max: number) {
    const rows = this.#s.known.all(Number(from ?? 0), max);
    const finished: string[] = [];
    const queued: string[] = [];
    for (const { id, key, state } of rows) {
      const { host, owned } = this.#hosts.numbered(hostNumberOf(id));
      if (owned > 0) (state === 0 ? queued : finished).push(identityOf(host, key));
    }
    const next = rows.length === max ? String(rows.at(-1)!.id) : null;
    return { finished, queued, next };
  }
}

/**
 * The crawl is no longer shared: what would wait for other networks for ever is queued. What they
 * have fetched stays skipped.
 */
export function leaveNetworks(db: Connection): void {
  const left = db.prepare("DELETE FROM meta WHERE key = 'network'").run().changes;
  if (left === 0) return;
  db.exec(`UPDATE urls INDEXED BY undecided SET not_before = 0, reason = NULL
    WHERE state = 0 AND not_before >= ${ASKING}`);
  db.exec('DELETE FROM unreported');
}

/** The row of an identity that has no verdict, or whose page another network is to fetch. */
const IS_UNDECIDED = `id = ? AND key = ? AND state = 0 AND not_before >= ${ASKING}`;
/** Ended here, and not because another network has the page. */
const IS_OWN = "state > 0 AND (reason IS NULL OR reason NOT LIKE 'elsewhere %')";

function statements(db: Connection) {
  return {
    taken: db.prepare<[number]>(
      `UPDATE urls SET not_before = ${ASKING}
       WHERE ${hostOfId('id')} = ? + 0 AND state = 0 AND not_before = ${COPIED}`,
    ),
    waiting: db.prepare<[number, number, number], NamedRow>(
      `SELECT u.id, u.key FROM urls u INDEXED BY undecided
       JOIN host_rows h ON h.number = ${hostOfId('u.id')} AND h.owned
       WHERE u.state = 0 AND u.not_before >= ${ASKING} AND u.not_before = ? AND u.id >= ?
       ORDER BY u.id LIMIT ?`,
    ),
    standing: db.prepare<[number], { state: number; notBefore: number }>(
      'SELECT state, not_before AS notBefore FROM urls WHERE id = ?',
    ),
    place: db.prepare<[number, string | null, number, string]>(
      `UPDATE urls SET not_before = ?, reason = ? WHERE ${IS_UNDECIDED}`,
    ),
    end: db.prepare<[number, string, number, string]>(
      `UPDATE urls SET state = ${SKIPPED}, done = ?, reason = ?, not_before = 0
       WHERE ${IS_UNDECIDED}`,
    ),
    plain: db.prepare<
      [number, number],
      NamedRow & { depth: number; referrer: string | null; sitemap: number }
    >(
      `SELECT id, key, depth, ${referrerOf('u')} AS referrer, sitemap FROM urls u
       WHERE ${hostOfId('id')} = ? + 0 AND state = 0 AND not_before = 0
       AND attempts = 0 AND again = 0 AND fetch_url IS NULL ORDER BY depth, found LIMIT ?`,
    ),
    give: db.prepare<[string, number]>(
      `UPDATE urls SET not_before = ${CLAIMED_ELSEWHERE}, reason = ? WHERE id = ? AND state = 0`,
    ),
    own: db.prepare<[number], SettledRow>(`SELECT key, state FROM urls WHERE id = ? AND ${IS_OWN}`),
    report: db.prepare<[number]>('INSERT OR IGNORE INTO unreported (id) VALUES (?)'),
    reportAll: db.prepare<[number, number]>(
      `INSERT OR IGNORE INTO unreported (id) SELECT id FROM urls
       WHERE id BETWEEN ? AND ? AND done > 0 AND ${IS_OWN}`,
    ),
    state: db.prepare<[number], number>('SELECT state FROM urls WHERE id = ?').pluck(),
    unreported: db.prepare<[number], NamedRow & { isFinished: number }>(
      `SELECT u.id, u.key, u.state IN (1, 2) AS isFinished FROM unreported r JOIN urls u ON u.id = r.id
       ORDER BY r.id LIMIT ?`,
    ),
    unreport: db.prepare<[number]>('DELETE FROM unreported WHERE id = ?'),
    reported: db.prepare<[string]>(
      'DELETE FROM unreported WHERE id IN (SELECT value FROM json_each(?))',
    ),
    askAgain: db.prepare<[number]>(
      `UPDATE urls SET not_before = ${ASKING} WHERE id = ? AND state = 0 AND not_before < ${ASKING}`,
    ),
    known: db.prepare<[number, number], NamedRow & { state: number }>(
      `SELECT id, key, state FROM urls WHERE id > ?
       AND (state IN (1, 2) OR (state = 0 AND not_before < ${ASKING})) ORDER BY id LIMIT ?`,
    ),
  };
}
