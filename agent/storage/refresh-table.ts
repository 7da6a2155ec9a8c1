// A new round of a crawl: the known URLs of a host are queued again, each under a third number,
// *again*, which is above the *found* of all that was known of the host before (docs/adr). The
// record of a page that was settled is kept aside as its *former* one until it ends anew: it has
// what a server can be asked by. Reached through `SqliteStore`; copies that come in go the same way
// (row-table.ts).

import type { Host, PageRow } from '../core/messages.ts';
import type { Connection } from './database.ts';
import type { HostRow, HostTable } from './host-table.ts';
import type { Note, Numbers } from './numbers.ts';
import type { StoredPage } from './page-columns.ts';
import { PAGE_COLUMNS, PAGE_VALUES, pageParameters, pageReader } from './page-columns.ts';

const SKIPPED = 3;

interface KnownRow {
  readonly key: string;
  readonly state: number;
  readonly found: number;
  readonly done: number;
  readonly round: number;
  readonly reason: string | null;
}

export class RefreshTable {
  readonly #hosts: HostTable;
  readonly #numbers: Numbers;
  readonly #note: Note;
  readonly #s: ReturnType<typeof statements>;
  readonly #page: ReturnType<typeof pageReader>;
  readonly #former: ReturnType<typeof pageReader>;
  #round: number;

  constructor(db: Connection, hosts: HostTable, numbers: Numbers, note: Note) {
    this.#hosts = hosts;
    this.#numbers = numbers;
    this.#note = note;
    this.#s = statements(db);
    this.#page = pageReader(db, 'page_records');
    this.#former = pageReader(db, 'former_pages');
    this.#round = Number(this.#s.meta.get() ?? 0);
  }

  /** In which URLs are found now; 0: there was none but the first. */
  get round(): number {
    return this.#round;
  }

  begin(round: number): void {
    this.#round = round;
    this.#hosts.restart();
    this.#s.saveMeta.run(round);
  }

  /** Hosts whose URLs may be of an earlier round. */
  behind(): Host[] {
    this.#hosts.flush();
    return this.#s.behind.all(this.#round);
  }

  /** Looks at up to `max` URLs of the host; `over`: all are of this round now. */
  queueAgain(host: Host, max: number): { queued: number; over: boolean } {
    const row = this.#hosts.find(host);
    if (!row || row.round >= this.#round) return { queued: 0, over: true };
    const known = this.#s.known.all(row.number, row.refreshedTo, max);
    let queued = 0;
    for (const url of known) {
      if (url.round >= this.#round || !isAskedAgain(url)) continue;
      // Not settled: what it links to may not be safe yet, so it is read anew.
      const former =
        url.done > 0 ? this.#page(row.number, url.found) : this.former(row.number, url.found);
      this.move(row, url, this.#round, url.state === 0 ? null : 0, former);
      queued++;
    }
    const over = known.length < max;
    if (over) this.#hosts.refreshed(row, this.#round);
    else row.refreshedTo = known.at(-1)!.key;
    return { queued, over };
  }

  /**
   * The URL is queued in that round, whatever it was before. `attempts` null: as many as it has.
   * Without a former record the page is read whole.
   */
  move(
    host: HostRow,
    { key, state, found }: Pick<KnownRow, 'key' | 'state' | 'found'>,
    round: number,
    attempts: number | null,
    former: PageRow | undefined,
  ): void {
    const n = this.#numbers.next();
    this.#s.deletePage.run(host.number, found);
    this.#s.deleteFormer.run(host.number, found);
    if (former) {
      this.#s.saveFormer.run({ ...pageParameters(former), host: host.number, found });
    }
    this.#s.queue.run(round, n, attempts, host.number, key);
    if (state !== 0) this.#hosts.addQueued(host, 1);
    if (state !== 0 && state !== SKIPPED) this.#hosts.addPage(host, -1);
    this.#note(host, key, n, 'again');
  }

  /** Of a queued page. */
  former(hostNumber: number, found: number): PageRow | undefined {
    return this.#former(hostNumber, found);
  }

  /** The page has ended anew. */
  forget(hostNumber: number, found: number): void {
    this.#s.deleteFormer.run(hostNumber, found);
  }

  deleteHost(hostNumber: number): void {
    this.#s.deleteFormers.run(hostNumber);
  }
}

/** What was skipped by rules that cannot have changed stays so. */
function isAskedAgain({ state, reason }: KnownRow): boolean {
  return state !== SKIPPED || reason === 'robots';
}

function statements(db: Connection) {
  return {
    meta: db.prepare<[], number>("SELECT value FROM meta WHERE key = 'round'").pluck(),
    saveMeta: db.prepare<[number]>("INSERT OR REPLACE INTO meta (key, value) VALUES ('round', ?)"),
    behind: db.prepare<[number], Host>('SELECT host FROM host_rows WHERE round < ?').pluck(),
    known: db.prepare<[number, string, number], KnownRow>(
      `SELECT key, state, found, done, round, reason FROM urls
       WHERE host = ? AND key > ? ORDER BY key LIMIT ?`,
    ),
    queue: db.prepare<[number, number, number | null, number, string]>(
      `UPDATE urls SET state = 0, round = ?, again = ?, attempts = coalesce(?, attempts), done = 0,
         not_before = 0, reason = NULL WHERE host = ? AND key = ?`,
    ),
    deletePage: db.prepare<[number, number]>(
      'DELETE FROM page_records WHERE host = ? AND found = ?',
    ),
    saveFormer: db.prepare<[StoredPage & { host: number; found: number }]>(
      `INSERT OR REPLACE INTO former_pages (host, found, ${PAGE_COLUMNS})
       VALUES ($host, $found, ${PAGE_VALUES})`,
    ),
    deleteFormer: db.prepare<[number, number]>(
      'DELETE FROM former_pages WHERE host = ? AND found = ?',
    ),
    deleteFormers: db.prepare<[number]>('DELETE FROM former_pages WHERE host = ?'),
  };
}
