// The visits: each thread crawls one host at a time, robots.txt first, then its queue breadth
// first, one request at a time, with the politeness delay between the end of one and the start of
// the next. A thread leaves its host when nothing is queued that could be asked for now, or when
// the host has to be left alone for longer than a delay; hosts come up in the order of discovery.
// Pure: the core calls `tick` and `finish` each turn, requests go into the turn's effects, state
// into the frontier store. Before each request the fetch right is asked.

import type { Instant } from '../../failure-detector/instant.ts';
import type { Budgets } from '../core/budgets.ts';
import type { Effects, PageRequest } from '../core/effects.ts';
import type { Right } from '../core/fetch-right.ts';
import type { Host } from '../core/messages.ts';
import type { FailureOutcome, Outcome, RobotsOutcome } from '../core/outcome.ts';
import type { Finished, KnownRobots, RobotsWord, Visits as VisitsPort } from '../core/visits.ts';
import {
  type Aftermath,
  type AftermathParts,
  holdHost,
  noteAnswer,
  pageEnded,
  type TrapLog,
} from './aftermath.ts';
import { type DelayRules, delayAfter } from './host-delay.ts';
import { MinHeap } from './min-heap.ts';
import { brakeOf, Novelty } from './novelty.ts';
import { ParkedHosts } from './parked-hosts.ts';
import { believedWait, type Chance, isBusy } from './retry.ts';
import {
  type AskOthers,
  knownRobots,
  originOf,
  type RobotsAnswer,
  RobotsGate,
  type RobotsRules,
} from './robots-gate.ts';
import type { FrontierStore, HostRecord, QueuedUrl, QueueEnding } from './store.ts';

/** URLs that robots.txt forbids, skipped in one turn: some milliseconds of work. */
const SKIPS_PER_TURN = 200;
/** Queued URLs that end together, in one turn: a queue of a million must not stop the loop. */
const ENDED_PER_TURN = 500;
/** A step that did its share of a turn goes on after this, in a turn of its own. */
const NEXT_TURN_MS = 1;
/** A thread stays with its host for waits up to this beyond the delay; longer ones free it. */
const PATIENCE_MS = 1000;
/** How soon a missing lease is asked for again, as a share of the heartbeat interval. */
const LEASE_RETRY = 0.25;

export interface VisitsParts {
  readonly store: FrontierStore;
  readonly effects: Effects;
  readonly events: TrapLog;
  readonly right: {
    check(host: Host, now: Instant, untouched: boolean): Right;
    waitUntil(host: Host, untilMs: number): void;
  };
  /** What the operator has ordered, and the delays that follow from it and the config. */
  readonly orders: { blocks(host: Host): boolean; delayOf(host: Host): number };
  /** What the cluster shares: slots of addresses, and pages of the crawl. */
  readonly budgets?: Pick<Budgets, 'slots' | 'pages'>;
  readonly asks?: AskOthers;
  readonly threads: number;
  readonly delays: DelayRules;
  readonly chance: Chance;
  readonly heartbeatMs: number;
  readonly pagesPerHost: number;
  /** Stale pages at which the rest of a host is skipped; null: none. */
  readonly stalePages: number | null;
  readonly robots: boolean;
  /** Whether the links of each page are kept for the view `links`. */
  readonly keepLinks: boolean;
  readonly parseRobots: (body: Uint8Array) => RobotsRules;
}

interface Visit {
  readonly record: HostRecord;
  readonly gate: RobotsGate;
  open: PageRequest | null;
  /** The origin whose robots.txt is being asked for; redirects may have led elsewhere. */
  robotsOf: string;
  dueAt: number;
  /** It waits for a slot, or has one. */
  asks: boolean;
  /** Queued URLs that are being ended, some each turn. Lost with the visit: tried again then. */
  ending: QueueEnding | null;
}

const OVER_PAGE_LIMIT: QueueEnding = { origin: null, as: { kind: 'skipped', reason: 'pages' } };
const TRAPPED: QueueEnding = { origin: null, as: { kind: 'skipped', reason: 'trap' } };
const ALL_BLOCKED: QueueEnding = { origin: null, as: { kind: 'skipped', reason: 'blocked' } };
/** The same by the operator's order, which may be taken back. */
const BLOCKED_BY_ORDER: QueueEnding = { ...ALL_BLOCKED };

const FREE = { slots: null, pages: null };

export class Visits implements VisitsPort {
  readonly #p: VisitsParts;
  readonly #page: AftermathParts;
  readonly #parked: ParkedHosts;
  readonly #visits = new Map<Host, Visit>();
  readonly #due = new MinHeap<Visit>();
  readonly #open = new Map<number, PageRequest>();
  /** Hosts whose stored waits the right is still to be told; filled by `queued`, emptied by ticks. */
  readonly #untold: Host[] = [];
  #heldBack = false;
  #lastRequest = 0;

  constructor(parts: VisitsParts) {
    this.#p = parts;
    this.#page = { ...parts, novelty: new Novelty() };
    this.#parked = new ParkedHosts((host) => parts.store.host(host).number);
  }

  queued(host: Host): void {
    if (this.#visits.has(host)) return;
    if (!this.#parked.has(host)) this.#untold.push(host);
    this.#parked.queued(host);
  }

  /** After a restart the back-off is known to the file alone; a yield must tell it, too. */
  #tellWaits(now: Instant): void {
    for (const host of this.#untold.splice(0)) {
      if (!this.#parked.has(host)) continue;
      const untilMs = believedWait(this.#p.store.host(host).notBefore, now.mono);
      if (untilMs > 0) this.#p.right.waitUntil(host, untilMs);
    }
  }

  wake(host: Host): void {
    this.#parked.unblock(host);
  }

  keepOnly(owns: (host: Host) => boolean): void {
    this.#parked.keepOnly(owns);
  }

  /**
   * A visit knows its host by the number of its row. Held back, or in its delay, it could go on when
   * the host has come back: under a number that is nobody's by then, or another host's.
   */
  dropped(host: Host, now: Instant): void {
    const visit = this.#visits.get(host);
    if (!visit) return;
    this.#end(visit);
    this.#p.budgets?.slots?.leave(host, now);
  }

  reconsider(host: Host, now: Instant): void {
    const visit = this.#visits.get(host);
    if (!visit) this.#parked.rouse(host);
    else if (!visit.open) this.#dueAt(visit, now.mono);
  }

  reconsiderAll(now: Instant): void {
    this.#parked.rouseAll();
    for (const visit of this.#visits.values()) if (!visit.open) this.#dueAt(visit, now.mono);
  }

  wakeAll(): void {
    this.#parked.unblockAll();
  }

  robotsOf(host: Host, origin: string, now: Instant): KnownRobots | null {
    const { store } = this.#p;
    const record = store.robots(store.host(host).number, origin);
    return record && knownRobots(record, now.mono);
  }

  robotsTold(host: Host, origin: string, word: RobotsWord, now: Instant): void {
    new RobotsGate(this.#p, this.#p.store.host(host)).told(origin, word, now.mono);
    this.wake(host);
  }

  isOpen(host: Host): boolean {
    return this.#visits.get(host)?.open != null;
  }

  open(): Iterable<PageRequest> {
    return this.#open.values();
  }

  openCount(): number {
    return this.#open.size;
  }

  isEmpty(): boolean {
    return this.#visits.size === 0 && this.#parked.isEmpty();
  }

  nextAtMs(): number {
    const startable = this.#parked.hasReady() && this.#visits.size < this.#p.threads;
    const dueAt = this.#heldBack ? Infinity : this.#due.firstKey;
    return startable ? 0 : Math.min(dueAt, this.#parked.nextWakeMs());
  }

  tick(now: Instant, holdBack: boolean): void {
    this.#tellWaits(now);
    this.#parked.wakeUntil(now.mono);
    while (this.#visits.size < this.#p.threads) {
      const host = this.#parked.takeReady();
      if (host === undefined) break;
      const record = this.#p.store.host(host);
      const gate = new RobotsGate(this.#p, record);
      const blank = { open: null, robotsOf: '', dueAt: 0, asks: false, ending: null };
      const visit: Visit = { record, gate, ...blank };
      this.#visits.set(host, visit);
      this.#dueAt(visit, now.mono);
    }
    // Those that are due wait for a turn that does not hold them back.
    this.#heldBack = holdBack;
    while (!holdBack && this.#due.firstKey <= now.mono) {
      const at = this.#due.firstKey;
      const visit = this.#due.pop();
      if (!visit || visit.dueAt !== at || visit.open) continue;
      if (this.#visits.get(visit.record.host) !== visit) continue;
      visit.asks = false;
      this.#step(visit, now);
      // A slot is not held, and no place in line kept, while anything else is waited for.
      if (!visit.asks) this.#p.budgets?.slots?.leave(visit.record.host, now);
    }
  }

  #dueAt(visit: Visit, at: number): void {
    visit.dueAt = at;
    this.#due.push(at, visit);
  }

  /** Brings one visit to its next request, wait or end. */
  #step(visit: Visit, now: Instant): void {
    const { record } = visit;
    const { store, right: rights, heartbeatMs } = this.#p;
    const right = rights.check(record.host, now, record.lastFetchAt === null);
    // A host that has become another's comes back, if it does, with a change of the view.
    if (right.kind === 'foreign') return this.#end(visit);
    if (right.kind === 'blocked') return this.#shelve(visit);
    const goOnMs = this.#endQueued(visit, now);
    if (goOnMs > 0) return this.#dueAt(visit, now.mono + goOnMs);
    const storedAt = store.nextUrlAt(record.number);
    if (storedAt === null) return this.#end(visit);
    const queuedAt = believedWait(storedAt, now.mono);
    const rightAt = right.kind === 'wait' ? right.untilMs : 0;
    const heldUntil = believedWait(record.notBefore, now.mono);
    const hostAt = Math.max(now.mono, rightAt, heldUntil, this.#delayEnd(record, now));
    if (queuedAt > hostAt) return this.#sleepUntil(visit, queuedAt);
    if (hostAt > now.mono) return this.#wait(visit, hostAt, now);
    if (right.kind === 'no-lease') {
      return this.#dueAt(visit, now.mono + heartbeatMs * LEASE_RETRY);
    }
    for (let skips = 0; skips < SKIPS_PER_TURN; skips++) {
      const next = store.nextUrl(record.number, queuedAt < storedAt ? Infinity : now.mono);
      if (!next) break;
      if (this.#pass(visit, next, now)) return;
    }
    this.#dueAt(visit, now.mono + NEXT_TURN_MS);
  }

  /** As today's delay has it: a longer one may have been ordered since the last request. */
  #delayEnd({ host, lastFetchAt }: HostRecord, now: Instant): number {
    // A time to come is one of a clock that was set back.
    if (lastFetchAt === null || lastFetchAt > now.mono) return 0;
    return lastFetchAt + this.#p.orders.delayOf(host);
  }

  /** Ends queued URLs that are to end without a request; 0, or when to go on with those left. */
  #endQueued(visit: Visit, now: Instant): number {
    const { number, host } = visit.record;
    const { store, pagesPerHost, stalePages, orders, budgets } = this.#p;
    if (orders.blocks(host)) visit.ending = BLOCKED_BY_ORDER;
    else if (visit.ending === BLOCKED_BY_ORDER) visit.ending = null;
    const pagesLeft = budgets?.pages?.over ? 0 : pagesPerHost - store.pagesDone(number);
    if (pagesLeft <= 0 && visit.ending?.as.kind !== 'skipped') visit.ending = OVER_PAGE_LIMIT;
    if (stalePages !== null && visit.record.stale >= stalePages) visit.ending ??= TRAPPED;
    if (!visit.ending) return 0;
    // What fails counts against the page limits, and what is over the limit is skipped.
    const counted = visit.ending.as.kind === 'failed' ? budgets?.pages : null;
    const max =
      visit.ending.as.kind === 'failed' ? Math.min(ENDED_PER_TURN, pagesLeft) : ENDED_PER_TURN;
    const allowed = counted ? counted.takeSome(host, max, now) : max;
    if (allowed === 0) return this.#p.heartbeatMs;
    const ended = store.endQueued(number, visit.ending, now.mono, allowed);
    counted?.giveBack(allowed - ended);
    if (ended === allowed) return NEXT_TURN_MS;
    visit.ending = null;
    return 0;
  }

  /** The URL is requested, or robots.txt before it, or waited for; false: it was skipped. */
  #pass(visit: Visit, next: QueuedUrl, now: Instant): boolean {
    const { record } = visit;
    if (!this.#p.robots) return this.#request(visit, 'page', next, now);
    const gate = visit.gate.check(next.url, now.mono);
    switch (gate.kind) {
      case 'pass':
        return this.#request(visit, 'page', next, now);
      case 'disallowed':
        this.#p.store.skip(record.number, next.url, 'robots');
        return false;
      case 'fetch': {
        const { url } = gate;
        visit.robotsOf = originOf(next.url);
        const robots = { ...next, url, fetchUrl: url, attempts: 0 };
        return this.#request(visit, 'robots', robots, now);
      }
      case 'wait':
        this.#wait(visit, gate.untilMs, now);
        return true;
      case 'asking':
        this.#end(visit);
        this.#parked.block(record.host);
        return true;
      case 'given-up': {
        const { reason } = gate;
        const as: QueueEnding['as'] =
          reason === '' ? { kind: 'skipped', reason: 'robots' } : { kind: 'failed', error: reason };
        visit.ending = { origin: originOf(next.url), as };
        this.#dueAt(visit, now.mono + NEXT_TURN_MS);
        return true;
      }
    }
  }

  /** True: it begins, or waits for what the cluster shares. */
  #request(visit: Visit, kind: PageRequest['kind'], next: QueuedUrl, now: Instant): true {
    const { host } = visit.record;
    const { slots, pages } = this.#p.budgets ?? FREE;
    if (kind === 'page' && pages?.has(host) === false) {
      this.#dueAt(visit, now.mono + this.#p.heartbeatMs);
      return true;
    }
    const entry = slots?.enter(host, now);
    if (entry && entry.kind !== 'go') {
      this.#queueUp(visit, entry.kind, now);
      return true;
    }
    const id = ++this.#lastRequest;
    const address = entry ? { address: entry.address } : {};
    const request: PageRequest = { id, kind, host, ...next, ...address };
    if (kind === 'page') pages?.take(id, now);
    slots?.started(host, id);
    visit.asks = true;
    visit.open = request;
    this.#open.set(id, request);
    this.#p.effects.push({ type: 'request', request });
    return true;
  }

  /** Whoever asks for a slot keeps the thread and is woken; those behind it in line do not. */
  #queueUp(visit: Visit, as: 'wait' | 'queued', now: Instant): void {
    visit.asks = true;
    if (as === 'wait') return this.#dueAt(visit, now.mono + this.#p.heartbeatMs);
    this.#end(visit);
    this.#parked.block(visit.record.host);
  }

  /** The host has to be left alone: short waits keep the thread, long ones free it for another. */
  #wait(visit: Visit, untilMs: number, now: Instant): void {
    const { host } = visit.record;
    const patienceMs = this.#p.orders.delayOf(host) + PATIENCE_MS;
    if (untilMs - now.mono <= patienceMs) return this.#dueAt(visit, untilMs);
    this.#end(visit);
    this.#parked.sleep(host, untilMs, 'host');
  }

  /** All that is queued waits, each URL for itself: a fresh one wakes the host. */
  #sleepUntil(visit: Visit, untilMs: number): void {
    this.#end(visit);
    this.#parked.sleep(visit.record.host, untilMs, 'urls');
  }

  /** No right just now. A queue that is still here waits for the view to change (again). */
  #shelve(visit: Visit): void {
    const { host, number } = visit.record;
    this.#end(visit);
    if (this.#p.store.nextUrlAt(number) !== null) this.#parked.block(host);
  }

  #end(visit: Visit): void {
    this.#visits.delete(visit.record.host);
    this.#p.budgets?.pages?.leave(visit.record.host);
  }

  /** Of a request that is not open (any more), an outcome changes nothing. */
  finish(outcome: Outcome, now: Instant): Finished {
    const { request, endedAt } = outcome;
    const visit = this.#visits.get(request.host);
    const { slots, pages } = this.#p.budgets ?? FREE;
    slots?.ended(request, endedAt, now);
    if (!this.#open.delete(request.id) || visit?.open?.id !== request.id) {
      pages?.ended(request.id, false);
      return { page: null };
    }
    visit.open = null;
    const { record } = visit;
    record.lastFetchAt = endedAt;
    const { finished, ending } =
      outcome.kind === 'robots'
        ? this.#robotsEnded(visit, outcome)
        : outcome.kind === 'failure' && request.kind === 'robots'
          ? this.#robotsFailed(visit, outcome)
          : pageEnded(this.#page, record, outcome);
    pages?.ended(request.id, finished.page !== null);
    visit.ending ??= ending;
    record.delayMs = this.#delayAfter(visit, outcome);
    this.#p.right.waitUntil(request.host, endedAt + record.delayMs);
    this.#p.store.saveHost(record, outcome.ip);
    this.#dueAt(visit, now.mono);
    return finished;
  }

  #delayAfter({ record, gate }: Visit, { durationMs }: Outcome): number {
    const ownMs = this.#p.orders.delayOf(record.host);
    const { crawlDelayMs } = gate;
    const brake = brakeOf(record.stale);
    return delayAfter(this.#p.delays, { ownMs, crawlDelayMs, durationMs, brake });
  }

  #robotsEnded(visit: Visit, outcome: Pick<RobotsOutcome, 'request' | 'answer' | 'endedAt'>) {
    const { record, gate, robotsOf } = visit;
    const { request, answer, endedAt } = outcome;
    const waitMs = gate.answered(robotsOf, answer, endedAt);
    holdHost(this.#p, record, endedAt, waitMs);
    // An answer ends a row of trouble; robots.txt has a row of attempts of its own.
    const trouble =
      answer.kind === 'unreachable' && (answer.status === null || isBusy(answer.status));
    if (!trouble) noteAnswer(record);
    const sitemaps = answer.kind === 'rules' ? answer.sitemaps : [];
    const found = sitemaps.map(({ host: _, ...url }) => {
      return { ...url, depth: 0, referrer: request.fetchUrl };
    });
    return { finished: { page: null, found }, ending: null };
  }

  #robotsFailed(visit: Visit, outcome: FailureOutcome): Aftermath {
    const { request, cause, code: error, endedAt } = outcome;
    if (cause === 'withdrawn') return { finished: { page: null }, ending: null };
    if (cause === 'forbidden-address') {
      return { finished: { page: null }, ending: ALL_BLOCKED };
    }
    const none = { status: null, retryAfterMs: null };
    const answer: RobotsAnswer = { kind: 'unreachable', reason: error, error, ...none };
    return this.#robotsEnded(visit, { request, answer, endedAt });
  }
}
