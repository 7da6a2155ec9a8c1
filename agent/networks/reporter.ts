// Tells the pools which URLs of this agent are settled or given up, looks for claims that have
// lapsed, and fills the pools again after Redis has lost them. These run one after the other: a claim
// that is restored must not overtake the report that ends it. The store keeps what Redis has not
// confirmed.

import { elapsedMs, type Instant } from '../../failure-detector/instant.ts';
import { digestOf } from './digests.ts';
import { Loop } from './loop.ts';
import type { NetworkParts } from './network-settings.ts';
import type { Pools } from './pools.ts';

export interface Report {
  readonly identity: string;
  /** The page is settled, or the URL was given up unfetched. */
  readonly kind: 'finished' | 'released';
}

/** A part of the URLs of this agent. */
export interface Filling {
  readonly finished: readonly string[];
  /** URLs with the verdict `new` that are queued or in flight. */
  readonly queued: readonly string[];
  /** Where the next part begins; null: this is the last. */
  readonly next: string | null;
}

export interface ReportStore {
  /** The first reports that are not confirmed, at most `max`. */
  unreported(max: number): readonly Report[];
  /** Redis has confirmed these, as they were passed on. */
  reported(reports: readonly Report[]): void;
  /** About `max` URLs from a place that the previous part named; null: from the beginning. */
  fill(from: string | null, max: number): Filling;
  /** The claims of these URLs have lapsed: those that are queued wait for a verdict again. */
  askAgain(identities: readonly string[]): void;
  isIdle(): boolean;
}

/** `other`: it was given up, left to another network or is unknown; `moved`: another agent has its host. */
export type Standing = 'queued' | 'finished' | 'other' | 'moved';

interface ReporterParts extends NetworkParts {
  readonly store: ReportStore;
  readonly standingOf: (identity: string) => Standing;
}

interface Look {
  readonly lapses: number;
  from: string | null;
}

/** Reports wait this long for others to share a command, and less long without other work. */
const LINGER_MS = 3000;
const LINGER_IDLE_MS = 200;
/** Reports of one command, so that no turn is long. */
const COMMAND_MAX = 1000;
/** While this network has no centre, its lapses are read this often. */
const LOOK_MS = 100;
/** Reports in memory, in batches. The store has the others. */
const BATCHES_MAX = 4;
/** Doubted claims (docs/NETWORKS.md, rule 8) that are examined at a time. */
const DOUBTED_MAX = 100;

export class Reporter {
  readonly #p: ReporterParts;
  readonly #own: Pools;
  readonly #loop: Loop;
  /** Filled by `report`, emptied by commands; at most BATCHES_MAX batches. */
  #reports: Report[] = [];
  #storeHasMore = true;
  #oldestAtMs = 0;
  #isHurried = false;
  readonly #confirmed: Report[] = [];
  /** Where the filling goes on; undefined: it is not running. */
  #fillFrom: string | null | undefined = undefined;
  /** Up to which lapse the claims were looked at; null: not yet. */
  #lookedAt: number | null = null;
  /** When the lapses were last read while this network had a centre. */
  #readFrom: Instant | null = null;
  /** The look that is running, with the place where it goes on; null: none is. */
  #look: Look | null = null;
  /** Filled by a look, emptied by `pump`: URLs without claim. */
  #lapsed: string[] = [];
  /** Claims are missing: the pools are filled again, whatever they say. */
  #mustFill = false;
  #checkAtMs = -Infinity;
  #inHand = 0;
  /** Filled by the loop, emptied by `pump`. */
  #doubted: readonly string[] = [];
  #examined: string[] = [];

  constructor(parts: ReporterParts) {
    this.#p = parts;
    this.#own = parts.pools.get(parts.settings.network)!;
    const { wake, onError } = parts;
    this.#loop = new Loop({ run: (now) => this.#step(now), wake, onError });
  }

  report(reports: readonly Report[], now: Instant): void {
    for (const report of reports) {
      if (this.#reports.length >= BATCHES_MAX * this.#p.settings.batch) {
        this.#storeHasMore = true;
        return;
      }
      if (this.#reports.length === 0) this.#oldestAtMs = now.mono;
      this.#reports.push(report);
    }
  }

  /** The store has reports that were not passed on. */
  storeChanged(): void {
    this.#storeHasMore = true;
  }

  claimsMissing(): void {
    this.#mustFill = true;
  }

  /** The pools are looked at now: they may have been lost. */
  serverChanged(): void {
    this.#checkAtMs = -Infinity;
    this.#loop.kick();
  }

  pump(now: Instant): void {
    const confirmed = this.#confirmed.splice(0);
    if (confirmed.length > 0) this.#p.store.reported(confirmed);
    if (this.#lapsed.length > 0) this.#p.store.askAgain(this.#lapsed.splice(0));
    this.#examine(now);
    if (this.#isDue(now)) this.#loop.kick();
    this.#loop.pump(now);
    this.#isHurried = false;
  }

  /** In the next turn, reports wait for no others. */
  hurry(): void {
    this.#isHurried = true;
  }

  /** Redis has confirmed every report. */
  get hasTold(): boolean {
    const waiting = this.#reports.length + this.#inHand + this.#confirmed.length;
    return waiting === 0 && !this.#storeHasMore;
  }

  get isQuiet(): boolean {
    return this.hasTold && !this.isFilling;
  }

  /**
   * The URLs that are queued here have their claims: no lapse is possible for `leaseMs` after this
   * network had a centre. Or the Redis is away, and is not awaited.
   */
  hasLooked(now: Instant): boolean {
    const { onTimeout, timeoutMs, leaseMs } = this.#p.settings;
    const isRead = this.#readFrom !== null && elapsedMs(this.#readFrom, now) < leaseMs;
    if (isRead && this.#look === null && this.#lapsed.length === 0) return true;
    return onTimeout === 'proceed' && this.#loop.troubleMs(now) >= timeoutMs;
  }

  get isFilling(): boolean {
    return this.#mustFill || this.#fillFrom !== undefined;
  }

  nextAtMs(): number {
    const at = this.#loop.nextAtMs();
    return this.#reports.length > 0 ? Math.min(at, this.#oldestAtMs + this.#lingerMs) : at;
  }

  counts() {
    return { unreported: this.#reports.length + this.#inHand, errors: this.#loop.errors };
  }

  #isDue(now: Instant): boolean {
    const { length } = this.#reports;
    if (length === 0) return this.#storeHasMore;
    const isOld = now.mono - this.#oldestAtMs >= this.#lingerMs;
    return isOld || length >= this.#p.settings.batch;
  }

  get #lingerMs(): number {
    if (this.#isHurried) return 0;
    return this.#p.store.isIdle() ? LINGER_IDLE_MS : LINGER_MS;
  }

  get #commandMax(): number {
    return Math.min(COMMAND_MAX, this.#p.settings.batch);
  }

  /** Ends claims of URLs that are not queued: their report may have come to another Redis. */
  #examine(now: Instant): void {
    for (const identity of this.#doubted) {
      const standing = this.#p.standingOf(identity);
      if (standing === 'other') this.report([{ identity, kind: 'released' }], now);
      if (standing === 'finished') this.report([{ identity, kind: 'finished' }], now);
      if (standing !== 'moved') this.#examined.push(identity);
    }
    this.#doubted = [];
  }

  async #step(now: Instant): Promise<number> {
    try {
      if (this.#isDue(now)) await this.#send();
      if (this.#mustFill || now.mono >= this.#checkAtMs) await this.#check(now);
      if (this.#look !== null) await this.#lookAt(this.#look);
      else if (this.#fillFrom !== undefined) await this.#fill(this.#fillFrom);
    } catch (error) {
      // The server may be another process now.
      this.#checkAtMs = -Infinity;
      throw error;
    }
    if (this.#look !== null || this.#fillFrom !== undefined || this.#isDue(now)) return 0;
    return Math.min(LINGER_MS, Math.max(LOOK_MS, this.#checkAtMs - now.mono));
  }

  async #check(now: Instant): Promise<void> {
    const mustFill = this.#mustFill;
    this.#mustFill = false;
    if (mustFill) this.#fillFrom = null;
    const examined = this.#examined.splice(0);
    const [, filledBy, doubted, lapses] = await Promise.all([
      examined.length > 0 && this.#own.examined(examined),
      this.#own.filledBy(),
      this.#own.doubted(DOUBTED_MAX),
      this.#own.lapses(),
    ]);
    this.#doubted = doubted;
    if (lapses !== null) this.#readFrom = now;
    const latest = this.#look?.lapses ?? this.#lookedAt;
    // A lapse during a look may be of claims that it has seen: it begins again.
    if (lapses !== null && lapses !== latest) this.#look = { lapses, from: null };
    this.#checkAtMs = now.mono + (lapses === null ? LOOK_MS : this.#p.settings.leaseMs / 6);
    if (filledBy !== null && !filledBy.includes(this.#p.agent)) this.#fillFrom ??= null;
  }

  /** Looks at some claims of queued URLs. Pools that were lost after a lapse have none of them. */
  async #lookAt(look: Look): Promise<void> {
    if (look.lapses > 0) {
      const { queued, next } = this.#p.store.fill(look.from, this.#commandMax);
      const digests = queued.map((identity) => digestOf(identity, this.#p.sha256));
      const marks = digests.length > 0 ? await this.#own.marksOf(digests) : '';
      this.#lapsed.push(...queued.filter((_, i) => marks === null || marks[i] === '0'));
      look.from = next;
      if (look.from !== null) return;
    }
    this.#lookedAt = look.lapses;
    this.#look = null;
  }

  async #send(): Promise<void> {
    const max = this.#commandMax;
    const inMemory = this.#reports.splice(0, max);
    let reports = inMemory;
    if (reports.length === 0) {
      reports = [...this.#p.store.unreported(max)];
      this.#storeHasMore = reports.length >= max;
    }
    this.#inHand = reports.length;
    try {
      const digests = (told: readonly Report[]) =>
        told.map(({ identity }) => digestOf(identity, this.#p.sha256));
      const finished = digests(reports.filter(({ kind }) => kind === 'finished'));
      if (finished.length > 0) await this.#own.finish(finished);
      // A URL that was queued again needs its claim, also once it is fetched: until that is reported,
      // only the claim keeps other networks from it. One in an open frame gets its verdict first.
      const released = digests(
        reports.filter(({ kind, identity }) => {
          return kind === 'released' && this.#p.standingOf(identity) === 'other';
        }),
      );
      if (released.length > 0) await this.#own.release(released);
      this.#confirmed.push(...reports);
    } catch (error) {
      // The store may have confirmed an earlier report of a URL whose claim is newer.
      this.#reports.unshift(...inMemory);
      this.#storeHasMore = true;
      throw error;
    } finally {
      this.#inHand = 0;
    }
  }

  async #fill(from: string | null): Promise<void> {
    // If Redis loses the pools again meanwhile, it loses the mark of the beginning, too.
    const begun = `${this.#p.agent} begun`;
    if (from === null) await this.#own.addFilled(begun);
    const { finished, queued, next } = this.#p.store.fill(from, this.#commandMax);
    const digests = (identities: readonly string[]) =>
      identities.map((identity) => digestOf(identity, this.#p.sha256));
    if (queued.length > 0) await this.#own.hold(digests(queued));
    if (finished.length > 0) await this.#own.finish(digests(finished));
    this.#fillFrom = next ?? undefined;
    if (next !== null) return;
    const filledBy = await this.#own.filledBy();
    if (filledBy === null) return;
    if (filledBy.includes(begun)) await this.#own.addFilled(this.#p.agent);
    else this.#fillFrom = null;
  }
}
