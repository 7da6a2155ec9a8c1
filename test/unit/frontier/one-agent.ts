// Runs the visits of one agent on virtual time, over a real store in memory. The web is a function
// from requests to answers, and fetch rights are a table. Time jumps to the next due event, so days
// of back-off take milliseconds. A loop that spins or sleeps past due work is detected.

import assert from 'node:assert/strict';
import type { SharedHosts } from '../../../agent/core/crawl/networks-port.ts';
import type { Right } from '../../../agent/core/hand-off/fetch-right.ts';
import { Effects, type PageRequest } from '../../../agent/core/protocol/effects.ts';
import { EventLog } from '../../../agent/core/protocol/event-log.ts';
import type { UrlItem } from '../../../agent/core/protocol/messages.ts';
import type { FailureOutcome, FoundLink, Outcome } from '../../../agent/core/protocol/outcome.ts';
import { admission } from '../../../agent/frontier/admission.ts';
import type { DelayRules } from '../../../agent/frontier/host-delay.ts';
import { type AskOthers, originOf } from '../../../agent/frontier/outcome/robots-gate.ts';
import { Visits } from '../../../agent/frontier/visits/visits.ts';
import { parseRobots } from '../../../agent/robots/robots-txt.ts';
import { openInMemory } from '../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../agent/storage/sqlite-store.ts';
import type { SpelledUrl } from '../../../agent/url/crawl-url.ts';
import type { UrlScope } from '../../../agent/url/request-scope.ts';
import { splitIdentity } from '../../../agent/url/url-key.ts';

export const EPOCH = 1_700_000_000_000;
/** Turns at one instant after which the loop counts as spinning. */
const TURNS_AT_ONCE_MAX = 50;

export type Answer =
  | {
      status: number;
      retryAfterMs?: number;
      links?: string[];
      redirectTo?: string;
      /** A request to the target would send cookies. */
      bringsCookies?: true;
      /** Redirects to this form of the same page. */
      moved?: string;
      tookMs?: number;
      digest?: string;
      simhash?: string;
      outOfScope?: number;
    }
  | { fails: FailureOutcome['cause']; code?: string; tookMs?: number }
  | { robots: string; sitemaps?: string[]; tookMs?: number }
  | { robotsAt: string; tookMs?: number }
  | { noRobots: { error?: string; status?: number; retryAfterMs?: number }; tookMs?: number };

export interface Options {
  readonly web: (request: PageRequest, at: number) => Answer;
  readonly threads?: number;
  readonly hostDelayMs?: number;
  readonly pagesPerHost?: number;
  readonly depthPerHost?: number;
  readonly robots?: boolean;
  readonly keepLinks?: boolean;
  readonly delays?: Partial<DelayRules>;
  readonly chance?: () => number;
  readonly stalePages?: number;
  /** The scope of requests; everything by default. */
  readonly scope?: UrlScope;
  /** How the robots.txt of other hosts is looked up; not at all by default. */
  readonly asks?: AskOthers;
  readonly networks?: SharedHosts;
  readonly db?: ReturnType<typeof openInMemory>;
  readonly now?: number;
}

export interface Asked {
  readonly request: PageRequest;
  readonly start: number;
  readonly end: number;
}

export class OneAgent {
  now: number;
  holdBack = false;
  /** If true, no host has the fetch right. */
  isShut = false;
  /** How often a fetch right was checked. */
  checks = 0;
  readonly held = new Set<string>();
  readonly log: Asked[] = [];
  readonly db: ReturnType<typeof openInMemory>;
  readonly store: SqliteStore;
  readonly events: EventLog;
  readonly visits: Visits;
  readonly effects = new Effects();
  /** Fetch rights other than granted, by host. */
  readonly rights = new Map<string, Exclude<Right['kind'], 'wait'>>();
  /** The ends of back-offs, by host. */
  readonly waits = new Map<string, number>();
  /** The ends of the last requests, by host: the delay counts from there. */
  readonly ends = new Map<string, number>();
  readonly hostDelayMs: number;
  /** Hosts that a directive blocks. */
  readonly blocked = new Set<string>();
  readonly delays = new Map<string, number>();
  readonly orders = {
    blocks: (host: string) => this.blocked.has(host),
    delayOf: (host: string) => this.delays.get(host) ?? this.hostDelayMs,
    threads: null as number | null,
  };
  readonly #o: Options;
  readonly #open = new Map<number, Asked & { readonly answer: Answer }>();
  readonly #admit: ReturnType<typeof admission>;
  turns = 0;

  constructor(options: Options) {
    this.#o = options;
    this.now = options.now ?? EPOCH;
    this.hostDelayMs = options.hostDelayMs ?? 1000;
    this.db = options.db ?? openInMemory();
    const { hostDelayMs } = this;
    this.store = new SqliteStore(this.db, { durability: 'process', hostDelayMs });
    this.events = new EventLog(this.store);
    const depthPerHost = options.depthPerHost ?? 16;
    this.#admit = admission({
      depthPerHost,
      urlLength: 2048,
      repeatedSegments: 5,
      everyPort: false,
    });
    const isShut = () => this.isShut;
    this.visits = new Visits({
      store: this.store,
      effects: this.effects,
      events: this.events,
      right: {
        get isShut() {
          return isShut();
        },
        check: (host) => this.#right(host),
        waitUntil: (host, until) => {
          this.waits.set(host, Math.max(until, this.waits.get(host) ?? 0));
        },
        delay: (host, from) => void this.ends.set(host, from),
      },
      directives: this.orders,
      scope: options.scope ?? { covers: () => true, admits: () => true },
      ...(options.asks && { asks: options.asks }),
      ...(options.networks && { networks: options.networks }),
      threads: options.threads ?? 4,
      delays: { crawlDelayMaxMs: 30_000, responseTimeFactor: 0, ...options.delays },
      chance: options.chance ?? (() => 0),
      stalePages: options.stalePages ?? null,
      heartbeatMs: 1000,
      pagesPerHost: options.pagesPerHost ?? 10_000,
      robots: options.robots ?? false,
      keepLinks: options.keepLinks ?? false,
      parseRobots: (body) => parseRobots(body, 'tester'),
    });
    for (const { host } of this.store.queuedFrom(0, 1000)) this.visits.schedule(host);
  }

  #right(host: string): Right {
    this.checks++;
    const kind = this.isShut ? 'blocked' : (this.rights.get(host) ?? 'granted');
    if (kind === 'foreign' || kind === 'blocked') return { kind };
    const from = this.ends.get(host) ?? -Infinity;
    const delayMs = Math.max(this.orders.delayOf(host), this.store.delayOf(host));
    const untilMs = Math.max(this.waits.get(host) ?? 0, from + delayMs);
    return untilMs > this.now ? { kind: 'wait', untilMs } : { kind };
  }

  /** Records URLs as if they were discovered now. */
  find(...urls: (string | [url: string, depth: number] | SpelledUrl)[]): void {
    this.store.begin();
    for (const entry of urls) {
      if (Array.isArray(entry)) this.#insert({ url: entry[0], depth: entry[1] });
      else this.#insert({ ...(typeof entry === 'string' ? { url: entry } : entry), depth: 0 });
    }
    this.store.commit(false);
  }

  #insert(item: UrlItem): void {
    const { host } = splitIdentity(item.url)!;
    const skip = this.#admit(item);
    const fresh = this.store.enqueue(host, item, skip) === 'new';
    if (fresh && skip === null) this.visits.schedule(host);
  }

  /**
   * Runs turns until nothing is left to do, or until `ms` have passed. Returns the time that
   * passed.
   */
  run(ms = Infinity): number {
    const began = this.now;
    const until = this.now + ms;
    let atOnce = 0;
    for (;;) {
      this.turn();
      const next = this.nextAt();
      if (next === Infinity) return this.now - began;
      atOnce = next <= this.now ? atOnce + 1 : 0;
      assert.ok(atOnce < TURNS_AT_ONCE_MAX, 'the loop spins');
      if (Math.max(next, this.now) > until) {
        this.now = until;
        return this.now - began;
      }
      this.now = Math.max(next, this.now);
    }
  }

  /** The time of the next due event. */
  nextAt(): number {
    return Math.min(this.visits.nextAtMs(), ...[...this.#open.values()].map((o) => o.end));
  }

  /** Runs one turn of the loop at the current time. */
  turn(): void {
    this.turns++;
    this.store.begin();
    for (const open of [...this.#open.values()]) if (open.end <= this.now) this.#finish(open);
    this.visits.tick(this.instant(), { all: this.holdBack, host: (host) => this.held.has(host) });
    this.store.commit(false);
    for (const effect of this.effects.take()) {
      if (effect.type === 'request') this.#ask(effect.request);
    }
  }

  instant() {
    return { mono: this.now, wall: this.now };
  }

  #ask(request: PageRequest): void {
    const answer = this.#o.web(request, this.now);
    const end = this.now + (answer.tookMs ?? 10);
    const asked = { request, start: this.now, end, answer };
    this.log.push(asked);
    this.#open.set(request.id, asked);
  }

  #finish(asked: Asked & { readonly answer: Answer }): void {
    this.#open.delete(asked.request.id);
    const outcome = outcomeOf(asked);
    const named = this.visits.namedBy(outcome);
    for (const { item } of named.part(0, named.count)) this.#insert(item);
    const { page } = this.visits.finish(outcome, this.instant());
    if (page) this.store.settle(page.host, page.url);
  }

  // ---- results

  /** The requested URLs, in order. */
  asked(kind: PageRequest['kind'] | 'any' = 'page'): string[] {
    const wanted = this.log.filter(({ request }) => kind === 'any' || request.kind === kind);
    return wanted.map(({ request }) => request.url);
  }

  /** The times, in milliseconds since EPOCH, of the requests for `url`. */
  timesOf(url: string): number[] {
    return this.log.filter((a) => a.request.url === url).map((a) => a.start - EPOCH);
  }

  pages(): Record<string, number | string> {
    const rows = this.db.prepare('SELECT url, status, error FROM pages ORDER BY url').all() as {
      url: string;
      status: number | null;
      error: string | null;
    }[];
    return Object.fromEntries(rows.map(({ url, status, error }) => [url, status ?? error ?? '']));
  }

  skipped(): Record<string, string> {
    const rows = this.db.prepare('SELECT url, reason FROM skipped ORDER BY url').raw().all();
    return Object.fromEntries(rows as [string, string][]);
  }

  /**
   * Checks that each host has one request at a time, and the delay between each end and the next
   * start.
   */
  checkPoliteness(): void {
    const ends = new Map<string, number>();
    for (const { request, start, end } of this.log) {
      const before = ends.get(request.host) ?? Number.NEGATIVE_INFINITY;
      assert.ok(start - before >= this.hostDelayMs, `${request.url}: ${start - before} ms after`);
      ends.set(request.host, end);
    }
  }

  /**
   * Compares the counters of the hosts with counts over the URLs; known = queued + pages + skipped.
   */
  checkAccounts(): void {
    const counted = this.db
      .prepare(
        `SELECT number, (SELECT count(*) FROM urls WHERE id >> 28 = number AND state = 0) AS queued,
          (SELECT count(*) FROM urls WHERE id >> 28 = number AND state IN (1, 2)) AS pages,
          (SELECT count(*) FROM page_records WHERE id >> 28 = number) AS records,
          queued AS toldQueued, pages_done AS toldPages FROM host_rows`,
      )
      .all() as Record<string, number>[];
    let queued = 0;
    let pages = 0;
    for (const row of counted) {
      assert.equal(row.toldQueued, row.queued, 'queued');
      assert.equal(row.toldPages, row.pages, 'pages');
      assert.equal(row.records, row.pages, 'records');
      queued += row.queued!;
      pages += row.pages!;
    }
    assert.equal(this.store.owned().queued, queued);
    assert.equal(this.store.owned().pages, pages);
    const count = (table: string) =>
      this.db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get()!;
    assert.equal(count('urls'), count('frontier') + count('pages') + count('skipped'));
  }
}

function outcomeOf({ request, start, end, answer }: Asked & { answer: Answer }): Outcome {
  const common = { request, endedAt: end, durationMs: end - start, ip: '192.0.2.1' };
  if ('fails' in answer) {
    const { fails: cause, code = cause } = answer;
    return { ...common, kind: 'failure', code, message: code, cause };
  }
  if ('robots' in answer) {
    const body = Buffer.from(answer.robots);
    const sitemaps = (answer.sitemaps ?? []).map((url) => linkTo(url));
    return { ...common, kind: 'robots', answer: { kind: 'rules', body, sitemaps } };
  }
  if ('robotsAt' in answer) {
    const { host } = splitIdentity(answer.robotsAt)!;
    const location = answer.robotsAt;
    const origin = location.endsWith('/robots.txt') ? { origin: originOf(location) } : {};
    return { ...common, kind: 'robots', answer: { kind: 'redirect', location, host, ...origin } };
  }
  if ('noRobots' in answer) {
    const { error = null, status = null, retryAfterMs = null } = answer.noRobots;
    const reason = error ?? `status_${status}`;
    const told = { kind: 'unreachable', reason, error, status, retryAfterMs } as const;
    return { ...common, kind: 'robots', answer: told };
  }
  if (request.kind === 'robots') {
    return { ...common, kind: 'robots', answer: { kind: 'allowAll', reason: 'status_404' } };
  }
  const { status, retryAfterMs = null, redirectTo = null, moved, digest, simhash } = answer;
  const { bringsCookies, outOfScope = 0 } = answer;
  const links: FoundLink[] = (answer.links ?? []).map((url) => linkTo(url));
  if (redirectTo !== null) links.push({ ...linkTo(redirectTo), redirect: true });
  return {
    ...common,
    kind: 'response',
    status,
    retryAfterMs,
    contentType: 'text/html',
    bytes: 100,
    truncated: false,
    digest: digest ?? null,
    simhash: simhash ?? null,
    redirectTo,
    ...(moved !== undefined && { moved }),
    ...(bringsCookies && { bringsCookies }),
    note: null,
    links,
    outOfScope,
  };
}

function linkTo(url: string): FoundLink {
  return { url, host: splitIdentity(url)!.host };
}
