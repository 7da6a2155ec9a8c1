// A new round of a crawl: the known URLs of a host are requeued, each under a third number,
// *again*, which is above the *found* of all URLs that the host had before. The previous record of
// a page is kept until the page ends again, other than with a redirect: it holds the validators for
// conditional requests, and the view `pages` shows it in the meantime, also if the URL is skipped.
// If the rules for links have changed, pages are requested without conditions: an unchanged page may
// have links that the former rules left out. The same applies after a repair, which may have lost
// URLs.

import type { Host, PageRow, PreviousPage } from '../../core/protocol/messages.ts';
import type { Connection } from '../encoding/connection.ts';
import type { InternedStrings } from '../encoding/interned-strings.ts';
import { idsOfHost } from '../encoding/url-ids.ts';
import type { HostRow, HostTable } from '../tables/host-table.ts';
import type { Note, Numbers } from '../tables/numbers.ts';
import type { PageTable } from '../tables/page-table.ts';
import { PreviousPages } from '../tables/previous-pages.ts';
import type { RobotsTable } from '../tables/robots-table.ts';
import type { NetworkUrls } from './network-urls.ts';

const QUEUED = 0;
const SKIPPED = 3;

/** Stored in place of the rules for links if they changed during a round, or links may be lost. */
const SEVERAL = 'several';

/** Makes the next round request all pages without conditions: the URLs they link to may be lost. */
export function distrustLinks(db: Connection): void {
  statements(db).saveMeta.run('link_rules', SEVERAL);
}

interface KnownRow {
  readonly id: number;
  readonly state: number;
  readonly done: number;
  readonly round: number;
  readonly attempts: number;
  readonly reason: string | null;
}

export interface RefreshedTables {
  readonly pages: PageTable;
  readonly robots: RobotsTable;
  /** Null: this crawl is not shared with other networks. */
  readonly networks: NetworkUrls | null;
  readonly strings: InternedStrings;
}

export class RefreshTable {
  readonly #hosts: HostTable;
  readonly #numbers: Numbers;
  readonly #note: Note;
  readonly #s: ReturnType<typeof statements>;
  readonly #pages: PageTable;
  readonly #robots: RobotsTable;
  readonly #networks: NetworkUrls | null;
  readonly #previous: PreviousPages;
  readonly #linkRules: string;
  #round: number;
  /** The rules for links in the present round. */
  #rules: string;
  /** Records of earlier rounds may have been made under other rules for links. */
  #ruledFrom: number;

  constructor(
    db: Connection,
    hosts: HostTable,
    numbers: Numbers,
    note: Note,
    { pages, robots, networks, strings }: RefreshedTables,
    linkRules: string,
  ) {
    this.#hosts = hosts;
    this.#numbers = numbers;
    this.#note = note;
    this.#s = statements(db);
    this.#pages = pages;
    this.#robots = robots;
    this.#networks = networks;
    this.#previous = new PreviousPages(db, strings);
    this.#round = Number(this.#s.meta.get('round') ?? 0);
    this.#ruledFrom = Number(this.#s.meta.get('ruled_from') ?? 0);
    this.#linkRules = linkRules;
    const former = this.#s.meta.get('link_rules') ?? linkRules;
    this.#rules = former === linkRules ? linkRules : SEVERAL;
    this.#s.saveMeta.run('link_rules', this.#rules);
  }

  /** The present round, in which new URLs are found; 0: the first one. */
  get round(): number {
    return this.#round;
  }

  begin(round: number): void {
    this.#round = round;
    this.#hosts.restart();
    this.#s.saveMeta.run('round', round);
    // An agent without URLs takes over hosts whose pages were read under rules that it cannot know.
    if (this.#rules !== SEVERAL && this.#s.any.get() !== undefined) return;
    this.#rules = this.#linkRules;
    this.#ruledFrom = round;
    this.#s.saveMeta.run('link_rules', this.#rules);
    this.#s.saveMeta.run('ruled_from', round);
  }

  /** Checks up to `max` URLs of the host. `over`: the host is complete for this round. */
  requeueKnown(host: Host, max: number): { queued: number; over: boolean } {
    const row = this.#hosts.find(host);
    if (!row || row.round >= this.#round) return { queued: 0, over: true };
    this.#robots.forgetGivenUp(row.number);
    const known = this.#s.known.all({ host: row.number, after: row.refreshedTo, max });
    let queued = 0;
    for (const url of known) {
      if (url.round >= this.#round || !isRequested(url)) continue;
      this.move(row, url, this.#round, url.state === 0 ? null : 0, this.#previousOf(url));
      queued++;
    }
    const over = known.length < max;
    if (over) this.#hosts.refreshed(row, this.#round);
    else row.refreshedTo = known.at(-1)!.id;
    return { queued, over };
  }

  /** The record to keep as the previous one when the page is requeued. */
  #previousOf({ id, state, done, round, attempts }: KnownRow): PreviousPage | undefined {
    if (hasPrevious(state)) return this.#previous.told(id);
    const page = this.#pages.read(id);
    if (!page) return undefined;
    const former = { ...page, ...(round > 0 && { round }), attempts };
    // The links of an unsettled page may be lost, so the page is fetched unconditionally.
    return done > 0 ? former : withoutValidators(former);
  }

  /**
   * Requeues a URL that rules had skipped, in a later round. Its page is fetched
   * unconditionally, because the present rules must be applied to its links.
   */
  reopen(host: HostRow, url: Pick<KnownRow, 'id' | 'state' | 'round'>): void {
    const former = this.#previous.told(url.id);
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
    former: PreviousPage | undefined,
  ): void {
    const n = this.#numbers.next();
    this.#pages.delete(id);
    if (former) this.#previous.save(id, former);
    else this.#previous.delete(id);
    // A skipped URL has no verdict of the other networks, or has been released.
    const key = state === SKIPPED && this.#networks ? this.#s.key.get(id) : undefined;
    const notBefore = key === undefined ? 0 : this.#networks!.queuedAgain(host, id, key);
    this.#s.queue.run(round, n, attempts, notBefore, id);
    if (state !== 0) this.#hosts.addQueued(host, 1);
    if (state !== 0 && state !== SKIPPED) this.#hosts.addPage(host, -1);
    this.#note(host, id, n, 'again');
  }

  /** The previous record of the URL with its round and attempts, as it is sent to copies. */
  told({ id, state }: Pick<KnownRow, 'id' | 'state'>): PreviousPage | undefined {
    const former = hasPrevious(state) ? this.#previous.told(id) : undefined;
    return former && this.sent(former, former.round ?? 0);
  }

  /**
   * The record of a page of that round, as it is sent to copies. The receiver may have a new state
   * file, and then it cannot know that the page was read under other rules for links.
   */
  sent<T extends PageRow>(page: T, round: number): T | Omit<T, 'etag' | 'lastModified'> {
    return this.#isRuled(round) ? page : withoutValidators(page);
  }

  /** The previous record of a queued page; without validators if it must be fetched whole. */
  former(id: number): PageRow | undefined {
    const told = this.#previous.told(id);
    if (!told) return undefined;
    const { round = 0, attempts, ...page } = told;
    return this.sent(page, round);
  }

  /** Whether all records of that round were made under the present rules for links. */
  #isRuled(round: number): boolean {
    return this.#rules !== SEVERAL && round >= this.#ruledFrom;
  }

  /**
   * Deletes the previous record: the page has ended again with that one. If it ended with a redirect,
   * a page stays until the next round, because the redirect may lead back to it.
   */
  forget(id: number, { redirectTo }: PageRow): void {
    if (redirectTo !== null && this.#previous.told(id)?.redirectTo === null) return;
    this.#previous.delete(id);
  }

  /** Requeues a URL that ended with a redirect, which led back to it; `isWhole`: see `WayBack`. */
  backAt(host: HostRow, url: Pick<KnownRow, 'id' | 'state' | 'round'>, isWhole: boolean): void {
    const page = this.#previous.told(url.id);
    const former = page && isWhole ? withoutValidators(page) : page;
    this.move(host, url, Math.max(this.#round, url.round + 1), 0, former);
  }
}

/** The record without the validators of a conditional request. */
function withoutValidators<T extends PageRow>({ etag, lastModified, ...rest }: T) {
  return rest;
}

/** Whether a URL in this state may have a previous record. */
function hasPrevious(state: number): boolean {
  return state === QUEUED || state === SKIPPED;
}

/** Only the rules of robots.txt may have changed; other skipped URLs stay skipped. */
function isRequested({ state, reason }: KnownRow): boolean {
  return state !== SKIPPED || reason === 'robots';
}

function statements(db: Connection) {
  return {
    meta: db.prepare<[string], number | string>('SELECT value FROM meta WHERE key = ?').pluck(),
    saveMeta: db.prepare<[string, number | string]>(
      'INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)',
    ),
    known: db.prepare<[{ host: number; after: number; max: number }], KnownRow>(
      `SELECT id, state, done, round, attempts, reason FROM urls
       WHERE ${idsOfHost('id', '$host')} AND id > $after ORDER BY id LIMIT $max`,
    ),
    any: db.prepare<[], unknown>('SELECT 1 FROM urls LIMIT 1'),
    key: db.prepare<[number], string>('SELECT key FROM urls WHERE id = ?').pluck(),
    queue: db.prepare<[number, number, number | null, number, number]>(
      `UPDATE urls SET state = 0, round = ?, again = ?, attempts = coalesce(?, attempts), done = 0,
         not_before = ?, failed_since = NULL, hops = 0, reason = NULL WHERE id = ?`,
    ),
  };
}
