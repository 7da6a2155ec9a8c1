// A new round of a crawl: the known URLs of a host are requeued, each under a third number,
// *again*, which is above the *found* of all URLs that the host had before (adr/0029). The previous
// record of a page is kept until the page ends again: it holds the validators for conditional
// requests, and the view `pages` shows it in the meantime, also if the URL is skipped.

import type { FormerPage, Host, PageRow } from '../../core/protocol/messages.ts';
import type { Connection } from '../encoding/connection.ts';
import { idsOfHost } from '../encoding/url-ids.ts';
import type { Words } from '../encoding/words.ts';
import { FormerPages } from '../tables/former-pages.ts';
import type { HostRow, HostTable } from '../tables/host-table.ts';
import type { Note, Numbers } from '../tables/numbers.ts';
import type { PageTable } from '../tables/page-table.ts';

const QUEUED = 0;
const SKIPPED = 3;

interface KnownRow {
  readonly id: number;
  readonly state: number;
  readonly done: number;
  readonly round: number;
  readonly attempts: number;
  readonly reason: string | null;
}

export class RefreshTable {
  readonly #hosts: HostTable;
  readonly #numbers: Numbers;
  readonly #note: Note;
  readonly #s: ReturnType<typeof statements>;
  readonly #pages: PageTable;
  readonly #formers: FormerPages;
  #round: number;

  constructor(
    db: Connection,
    hosts: HostTable,
    numbers: Numbers,
    note: Note,
    pages: PageTable,
    words: Words,
  ) {
    this.#hosts = hosts;
    this.#numbers = numbers;
    this.#note = note;
    this.#s = statements(db);
    this.#pages = pages;
    this.#formers = new FormerPages(db, words);
    this.#round = Number(this.#s.meta.get() ?? 0);
  }

  /** The present round, in which new URLs are found; 0: the first one. */
  get round(): number {
    return this.#round;
  }

  begin(round: number): void {
    this.#round = round;
    this.#hosts.restart();
    this.#s.saveMeta.run(round);
  }

  /** Checks up to `max` URLs of the host. `over`: the host is complete for this round. */
  queueAgain(host: Host, max: number): { queued: number; over: boolean } {
    const row = this.#hosts.find(host);
    if (!row || row.round >= this.#round) return { queued: 0, over: true };
    const known = this.#s.known.all({ host: row.number, after: row.refreshedTo, max });
    let queued = 0;
    for (const url of known) {
      if (url.round >= this.#round || !isAskedAgain(url)) continue;
      this.move(row, url, this.#round, url.state === 0 ? null : 0, this.#formerOf(url));
      queued++;
    }
    const over = known.length < max;
    if (over) this.#hosts.refreshed(row, this.#round);
    else row.refreshedTo = known.at(-1)!.id;
    return { queued, over };
  }

  /** The record to keep as the previous one when the page is requeued. */
  #formerOf({ id, state, done, round, attempts }: KnownRow): FormerPage | undefined {
    if (hasFormer(state)) return this.#formers.told(id);
    const page = this.#pages.read(id);
    if (!page) return undefined;
    const former = { ...page, ...(round > 0 && { round }), attempts };
    // The links of an unsettled page may be lost, so the page is fetched unconditionally.
    return done > 0 ? former : withoutValidators(former);
  }

  /**
   * Requeues a URL that rules had skipped, in a later round (docs/adr/0029). Its page is fetched
   * unconditionally, because the present rules must be applied to its links.
   */
  reopen(host: HostRow, url: Pick<KnownRow, 'id' | 'state' | 'round'>): void {
    const former = this.#formers.told(url.id);
    const round = Math.max(this.#round, url.round + 1);
    this.move(host, url, round, 0, former && withoutValidators(former));
  }

  /**
   * Queues the URL in that round, whatever its state.
   *
   * @param attempts - null: unchanged
   * @param former - the previous record; without one the page is fetched unconditionally
   */
  move(
    host: HostRow,
    { id, state }: Pick<KnownRow, 'id' | 'state'>,
    round: number,
    attempts: number | null,
    former: FormerPage | undefined,
  ): void {
    const n = this.#numbers.next();
    this.#pages.delete(id);
    if (former) this.#formers.save(id, former);
    else this.#formers.delete(id);
    this.#s.queue.run(round, n, attempts, id);
    if (state !== 0) this.#hosts.addQueued(host, 1);
    if (state !== 0 && state !== SKIPPED) this.#hosts.addPage(host, -1);
    this.#note(host, id, n, 'again');
  }

  /** The previous record of the URL with its round and attempts, as it is sent to copies. */
  told({ id, state }: Pick<KnownRow, 'id' | 'state'>): FormerPage | undefined {
    return hasFormer(state) ? this.#formers.told(id) : undefined;
  }

  /** The previous record of a queued page. */
  former(id: number): PageRow | undefined {
    return this.#formers.read(id);
  }

  /** Deletes the previous record: the page has ended again. */
  forget(id: number): void {
    this.#formers.delete(id);
  }
}

/** The record without the validators of a conditional request. */
function withoutValidators({ etag, lastModified, ...rest }: FormerPage): FormerPage {
  return rest;
}

/** Whether a URL in this state may have a previous record. */
function hasFormer(state: number): boolean {
  return state === QUEUED || state === SKIPPED;
}

/** Only the rules of robots.txt may have changed; other skipped URLs stay skipped. */
function isAskedAgain({ state, reason }: KnownRow): boolean {
  return state !== SKIPPED || reason === 'robots';
}

function statements(db: Connection) {
  return {
    meta: db.prepare<[], number>("SELECT value FROM meta WHERE key = 'round'").pluck(),
    saveMeta: db.prepare<[number]>("INSERT OR REPLACE INTO meta (key, value) VALUES ('round', ?)"),
    known: db.prepare<[{ host: number; after: number; max: number }], KnownRow>(
      `SELECT id, state, done, round, attempts, reason FROM urls
       WHERE ${idsOfHost('id', '$host')} AND id > $after ORDER BY id LIMIT $max`,
    ),
    queue: db.prepare<[number, number, number | null, number]>(
      `UPDATE urls SET state = 0, round = ?, again = ?, attempts = coalesce(?, attempts), done = 0,
         not_before = 0, failed_since = NULL, hops = 0, reason = NULL WHERE id = ?`,
    ),
  };
}
