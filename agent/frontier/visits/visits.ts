// The visits: an agent visits a limited number of hosts at a time. A visit requests robots.txt
// first, then the host's queue breadth first, one request at a time, with the politeness delay
// after each. Only requests hold a thread (`threads.ts`), and slow hosts have places of their own
// (`places.ts`). A visit ends when no queued URL may be requested now, or when the host must wait
// for longer than its delay. If other hosts wait for its place, it also ends after a request to a
// slow host, or after some minutes.
//
// Pure: requests go into the turn's effects, state into the frontier store. The fetch right is
// checked before each request.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { PageRequest } from '../../core/protocol/effects.ts';
import type { Host } from '../../core/protocol/messages.ts';
import type { Outcome } from '../../core/protocol/outcome.ts';
import type {
  Finished,
  Held,
  KnownRobots,
  RobotsResult,
  TimedWait,
  Visits as VisitsPort,
} from '../../core/protocol/visits-port.ts';
import type { HostRecord, QueuedUrl } from '../frontier-store.ts';
import { demandedDelay } from '../host-delay.ts';
import { Novelty, slowDownOf } from '../outcome/novelty.ts';
import { namedBy, type OutcomeHandlingParts, pageEnded } from '../outcome/outcome-handling.ts';
import { believedWait, isDoubtful, isLastTest } from '../outcome/retry.ts';
import { robotsEnded, robotsFailed } from '../outcome/robots-ends.ts';
import { knownRobots, originOf, RobotsGate } from '../outcome/robots-gate.ts';
import { RulesCache } from '../outcome/rules-cache.ts';
import { HostSchedule, type Ready } from '../schedule/host-schedule.ts';
import { type Line, type Place, Places } from '../schedule/places.ts';
import { SlowHosts } from '../schedule/slow-hosts.ts';
import { type Scheduled, VisitOrder } from '../schedule/visit-order.ts';
import { type Ends, endQueued, NEXT_TURN_MS } from './queue-drop.ts';
import type { VisitsParts } from './visits-parts.ts';

/** Disallowed URLs that all visits skip in one turn: some milliseconds of work. */
const SKIPS_PER_TURN = 200;
/** Steps for parsing and checking rules in one turn; other visits then wait for the next. */
const ROBOTS_STEPS_PER_TURN = 8_000_000;
/** Wait before a host is examined again whose links wait in the outbox. */
const HELD_MS = 250;
/** A visit continues through waits of up to the delay plus this; longer waits end it. */
const PATIENCE_MS = 1000;
/** A visit older than this ends if another host waits for its place. */
const PLACE_MS = 180_000;
/** Wait before a missing lease is checked again, as a fraction of the heartbeat interval. */
const LEASE_RETRY = 0.25;

interface Visit extends Scheduled, Ends {
  /** Start of the visit. */
  readonly since: number;
  readonly gate: RobotsGate;
  open: PageRequest | null;
  /** The origin whose robots.txt is requested; redirects may lead to another one. */
  robotsOf: string;
  place: Place;
  /** Whether the visit has a permit, or waits for one. */
  wantsPermit: boolean;
}

const LINES = ['slow', 'back', 'new'] as const;
const FREE = { permits: null, pages: null };

export class Visits implements VisitsPort {
  readonly #p: VisitsParts;
  readonly #page: OutcomeHandlingParts;
  readonly #schedule: HostSchedule;
  readonly #gateParts: ConstructorParameters<typeof RobotsGate>[0];
  readonly #visits = new Map<Host, Visit>();
  readonly #order: VisitOrder<Visit>;
  readonly #places: Places<Visit>;
  readonly #slowHosts = new SlowHosts();
  #tickedAt = 0;
  readonly #open = new Map<number, PageRequest>();
  /** Hosts whose stored waits the fetch right does not know yet; emptied by each tick. */
  readonly #stored = new Set<Host>();
  #heldBack = false;
  #lastRequest = 0;
  /** What this turn has left of `SKIPS_PER_TURN` and `ROBOTS_STEPS_PER_TURN`. */
  #skipsLeft = 0;
  #stepsLeft = 0;

  constructor(parts: VisitsParts) {
    this.#p = parts;
    this.#order = new VisitOrder(
      parts.threads,
      (visit) => !visit.open && this.#visits.get(visit.record.host) === visit,
    );
    this.#places = new Places(parts.threads);
    this.#page = { ...parts, novelty: new Novelty() };
    this.#gateParts = { ...parts, rules: new RulesCache() };
    const known = {
      numberOf: (host: Host) => parts.store.host(host).number,
      queuedFrom: (number: number, max: number) => parts.store.queuedFrom(number, max),
    };
    this.#schedule = new HostSchedule(
      known,
      (host) => this.#visits.has(host),
      (host) => this.#slowHosts.until(host),
    );
  }

  schedule(host: Host): void {
    if (this.#visits.has(host)) return;
    if (!this.#schedule.has(host) && this.#p.store.host(host).notBefore > 0) this.#stored.add(host);
    this.#schedule.schedule(host);
  }

  /** After a restart only the store knows the back-off; a yield must include it. */
  #reportWaits(now: Instant): void {
    for (const host of this.#stored) {
      const untilMs = believedWait(this.#p.store.host(host).notBefore, now.mono);
      if (untilMs > 0) this.#p.right.waitUntil(host, untilMs);
    }
    this.#stored.clear();
  }

  wake(host: Host): void {
    this.#schedule.wake(host);
  }

  keepOnly(owns: (host: Host) => boolean): void {
    this.#schedule.keepOnly(owns);
  }

  /** Ends the visit: it uses the host's row id, which may be another host's later. */
  dropped(host: Host, now: Instant): void {
    this.#stored.delete(host);
    const visit = this.#visits.get(host);
    if (!visit) return;
    this.#end(visit);
    this.#p.budgets?.permits?.leave(host, now);
  }

  recheck(host: Host, now: Instant): void {
    const visit = this.#visits.get(host);
    if (!visit) this.#schedule.recheck(host);
    else if (!visit.open) this.#order.dueAt(visit, now.mono);
  }

  recheckAll(now: Instant, named = (_: Host) => true): void {
    this.#schedule.recheckAll(named);
    for (const [host, visit] of this.#visits) {
      if (!visit.open && named(host)) this.#order.dueAt(visit, now.mono);
    }
  }

  wakeAll(): void {
    this.#schedule.wakeAll();
  }

  robotsOf(host: Host, origin: string, now: Instant): KnownRobots | null {
    const { store } = this.#p;
    const record = store.robots(store.host(host).number, origin);
    return record && knownRobots(record, now.mono);
  }

  robotsReported(host: Host, origin: string, result: RobotsResult, now: Instant): void {
    new RobotsGate(this.#gateParts, this.#p.store.host(host)).reported(origin, result, now.mono);
    this.wake(host);
  }

  waitOf(host: Host) {
    const visit = this.#visits.get(host);
    return visit?.open ? undefined : (visit?.wait ?? this.#schedule.waitOf(host));
  }

  waiting(): readonly Host[] {
    const visited = [...this.#visits.values()].filter(({ open }) => !open);
    return [...visited.map(({ record }) => record.host), ...this.#schedule.waiting()];
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

  waitsForNetworks(): boolean {
    return this.#visits.size === 0 && this.#schedule.waitsForNetworks;
  }

  isEmpty(): boolean {
    return this.#visits.size === 0 && this.#schedule.isEmpty();
  }

  nextAtMs(): number {
    const dueAt = this.#heldBack ? Infinity : this.#order.nextAtMs(this.#tickedAt);
    const ready = this.#p.right.isShut ? [] : LINES.filter((line) => this.#schedule.hasReady(line));
    if (ready.some((line) => this.#places.mayEnter(line))) return 0;
    const placeAt = ready.length === 0 ? Infinity : this.#places.freeAtMs();
    return Math.min(dueAt, this.#schedule.nextWakeMs(), placeAt);
  }

  get threads(): number {
    return this.#p.directives.threads ?? this.#p.threads;
  }

  tick(now: Instant, held: Held): void {
    this.#reportWaits(now);
    for (const limit of [this.#order.threads, this.#places]) limit.resize(this.threads);
    this.#tickedAt = now.mono;
    this.#places.settle(now.mono);
    this.#schedule.goOn();
    this.#schedule.wakeUntil(now.mono);
    // Otherwise all ready hosts would be read into memory and wait there for the right.
    const mayEnter = (line: Line) => !this.#p.right.isShut && this.#places.mayEnter(line);
    const take = () => this.#schedule.takeReady(mayEnter);
    for (let next = take(); next; next = take()) this.#begin(next, now);
    // Visits that are due wait for a turn that does not hold all requests.
    this.#heldBack = held.all;
    this.#skipsLeft = SKIPS_PER_TURN;
    this.#stepsLeft = ROBOTS_STEPS_PER_TURN;
    if (held.all) return;
    for (let visit = this.#order.next(now.mono); visit; visit = this.#order.next(now.mono)) {
      visit.wantsPermit = false;
      // The visit ends, so that its place is free meanwhile.
      if (held.host(visit.record.host)) this.#sleepUntil(visit, now.mono + HELD_MS, 'outbox');
      else this.#step(visit, now);
      // A visit that waits for anything else keeps neither a permit nor a place in its queue.
      if (!visit.wantsPermit) this.#p.budgets?.permits?.leave(visit.record.host, now);
    }
  }

  #begin({ host, line }: Ready, now: Instant): void {
    const record = this.#p.store.host(host);
    const gate = new RobotsGate(this.#gateParts, record);
    const place = line === 'slow' ? 'slow' : 'ordinary';
    const blank = { open: null, robotsOf: '', dueAt: 0, wantsPermit: false };
    const ends = { queueDrop: null, endedTo: null };
    const visit: Visit = { record, gate, place, since: now.mono, ...blank, ...ends };
    this.#visits.set(host, visit);
    this.#places.enter(visit);
    this.#order.dueAt(visit, now.mono);
  }

  /** Advances a visit to its next request, wait or end. */
  #step(visit: Visit, now: Instant): void {
    const { record } = visit;
    const { store, right: rights, heartbeatMs } = this.#p;
    const right = rights.check(record.host, now, record.lastFetchAt === null);
    // If the host becomes this agent's again, the change of the view schedules it.
    if (right.kind === 'foreign') return this.#end(visit);
    if (right.kind === 'blocked') return this.#block(visit);
    const goOnMs = endQueued(this.#p, visit, now);
    if (goOnMs > 0) return this.#order.dueAt(visit, now.mono + goOnMs);
    const storedAt = store.nextUrlAt(record.number);
    if (storedAt === null) return this.#end(visit);
    if (storedAt === 'networks') return this.#awaitNetworks(visit);
    const queuedAt = believedWait(storedAt, now.mono);
    const rightAt = right.kind === 'wait' ? right.untilMs : 0;
    const heldUntil = believedWait(record.notBefore, now.mono);
    const hostAt = Math.max(now.mono, rightAt, heldUntil, this.#delayEnd(record, now));
    if (queuedAt > hostAt) return this.#sleepUntil(visit, queuedAt);
    if (hostAt > now.mono) return this.#wait(visit, hostAt, now);
    if (right.kind === 'no-lease') {
      return this.#order.dueAt(visit, now.mono + heartbeatMs * LEASE_RETRY);
    }
    // At least one URL: a host with many skips must not use up the turns of those behind it.
    for (let first = true; first || (this.#skipsLeft > 0 && this.#stepsLeft > 0); first = false) {
      const until = queuedAt < storedAt ? Infinity : now.mono;
      const next = store.nextUrl(record.number, until, this.#placeInQueue(record));
      if (!next) break;
      if (this.#tests(visit, next, now)) return;
      const before = visit.gate.steps;
      const passed = this.#pass(visit, next, now);
      this.#stepsLeft -= visit.gate.steps - before;
      if (passed) return;
      this.#skipsLeft--;
    }
    this.#order.dueAt(visit, now.mono + NEXT_TURN_MS);
  }

  /** A doubtful host is tried from all parts of its queue: the first pages may all be slow. */
  #placeInQueue(record: HostRecord): 'last' | number {
    if (isLastTest(record)) return 'last';
    return isDoubtful(record) ? this.#p.chance() : 0;
  }

  /**
   * Before a host is abandoned, it is tested with a page that it served before, so that the pages
   * that fail do not condemn it: the page where the queued URL was found, or the front page.
   */
  #tests(visit: Visit, { url, referrer, depth }: QueuedUrl, now: Instant): boolean {
    const { record, gate } = visit;
    if (!isLastTest(record)) return false;
    const origin = originOf(url);
    for (const known of [referrer, `${origin}/`]) {
      if (known === undefined || originOf(known) !== origin) continue;
      const fetchUrl = this.#p.store.goodForm(record.number, known);
      if (fetchUrl === null || !this.#p.scope.admits(record.host, { url: known, fetchUrl }))
        continue;
      if (this.#p.robots && gate.check(fetchUrl, now.mono).kind !== 'pass') continue;
      const page = { url: known, fetchUrl, depth, attempts: 0, isTest: true } as const;
      return this.#request(visit, 'page', page, now);
    }
    return false;
  }

  /** The end of the delay by the current setting, which may be longer than at the last request. */
  #delayEnd({ host, lastFetchAt }: HostRecord, now: Instant): number {
    // A time in the future means that the clock was set back.
    if (lastFetchAt === null || lastFetchAt > now.mono) return 0;
    return lastFetchAt + this.#p.directives.delayOf(host);
  }

  /** Requests the URL or its robots.txt, or waits. Returns false if the URL was skipped. */
  #pass(visit: Visit, next: QueuedUrl, now: Instant): boolean {
    const { record } = visit;
    // The scope may have changed since the URL was found.
    if (!this.#p.scope.admits(record.host, next)) {
      this.#p.store.skip(record.number, next.url, 'scope');
      return false;
    }
    if (!this.#p.robots) return this.#request(visit, 'page', next, now);
    const gate = visit.gate.check(next.fetchUrl, now.mono);
    switch (gate.kind) {
      case 'pass':
        return this.#request(visit, 'page', next, now);
      case 'disallowed':
        this.#p.store.skip(record.number, next.url, 'robots');
        return false;
      case 'fetch': {
        const { url } = gate;
        visit.robotsOf = originOf(next.url);
        const robots = { ...next, url: String(url), fetchUrl: url, attempts: 0 };
        return this.#request(visit, 'robots', robots, now);
      }
      case 'wait': {
        const { attempts, failedSince = null } = next;
        const retry = { attempts, failedSince, notBefore: gate.untilMs };
        if (gate.ofOrigin) this.#p.store.requeue(record.number, next.url, retry);
        else this.#wait(visit, gate.untilMs, now);
        return !gate.ofOrigin;
      }
      case 'asking':
        this.#end(visit);
        this.#schedule.waitFor(record.host, 'robots');
        return true;
      case 'given-up': {
        visit.queueDrop = { origin: originOf(next.url), as: { kind: 'failed', error: gate.error } };
        this.#order.dueAt(visit, now.mono + NEXT_TURN_MS);
        return true;
      }
    }
  }

  /** Starts the request, or waits for a shared limit. Returns true, like `#pass`. */
  #request(
    visit: Visit,
    kind: PageRequest['kind'],
    next: QueuedUrl & Pick<PageRequest, 'isTest'>,
    now: Instant,
  ): true {
    const { host, delayMs } = visit.record;
    const { permits, pages } = this.#p.budgets ?? FREE;
    if (kind === 'page' && pages?.has(host) === false) {
      this.#order.dueAt(visit, now.mono + this.#p.heartbeatMs);
      return true;
    }
    const { networks, directives } = this.#p;
    if (networks?.mayVisit(host, Math.max(delayMs, directives.delayOf(host)), now) === false) {
      this.#awaitNetworks(visit);
      return true;
    }
    const entry = permits?.enter(host, now);
    if (entry && entry.kind !== 'go') {
      this.#queueUp(visit, entry.kind, now);
      return true;
    }
    const id = ++this.#lastRequest;
    const address = entry ? { address: entry.address } : {};
    const request: PageRequest = { id, kind, host, ...next, ...address };
    if (kind === 'page') pages?.take(id, now);
    permits?.started(host, id);
    visit.wantsPermit = true;
    visit.open = request;
    this.#open.set(id, request);
    if (visit.place !== 'slow') this.#order.threads.started(id, now.mono);
    this.#places.asked(visit, now.mono);
    this.#p.effects.push({ type: 'request', request });
    return true;
  }

  /** The visit that requests a permit continues; the visits behind it in the queue end. */
  #queueUp(visit: Visit, as: 'wait' | 'queued', now: Instant): void {
    visit.wantsPermit = true;
    if (as === 'wait') return this.#order.dueAt(visit, now.mono + this.#p.heartbeatMs);
    this.#end(visit);
    this.#schedule.waitFor(visit.record.host, 'permit');
  }

  /** The host must wait: the visit continues through a short wait, and a long one ends it. */
  #wait(visit: Visit, untilMs: number, now: Instant): void {
    const { host } = visit.record;
    const patienceMs = this.#p.directives.delayOf(host) + PATIENCE_MS;
    if (untilMs - now.mono <= patienceMs) return this.#order.dueAt(visit, untilMs, 'delay');
    this.#sleepUntil(visit, untilMs, 'delay');
  }

  /** Ends the visit for that time. If only retries are queued, a fresh URL wakes the host. */
  #sleepUntil(visit: Visit, untilMs: number, why: TimedWait = 'retries'): void {
    this.#end(visit);
    this.#schedule.sleep(visit.record.host, untilMs, why);
  }

  /** Another network visits the host, or may have its URLs. The host is woken. */
  #awaitNetworks(visit: Visit): void {
    this.#end(visit);
    this.#schedule.waitFor(visit.record.host, 'network');
  }

  /** A host without the fetch right waits for a change of the view or a yield. */
  #block(visit: Visit): void {
    const { host, number } = visit.record;
    this.#end(visit);
    if (this.#p.store.nextUrlAt(number) !== null) this.#schedule.waitFor(host, 'right');
  }

  #end(visit: Visit): void {
    if (!this.#visits.delete(visit.record.host)) return;
    this.#places.leave(visit);
    this.#p.budgets?.pages?.leave(visit.record.host);
  }

  namedBy(outcome: Outcome) {
    const visit = this.#visits.get(outcome.request.host);
    const isOpen = visit?.open?.id === outcome.request.id;
    return namedBy(outcome, isOpen ? visit.record : null, this.#p.store);
  }

  /** Applies the outcome of an open request. Other outcomes change nothing. */
  finish(outcome: Outcome, now: Instant): Finished {
    const { request, endedAt } = outcome;
    const visit = this.#visits.get(request.host);
    const { permits, pages } = this.#p.budgets ?? FREE;
    permits?.ended(request, endedAt, now);
    const { networks, directives, store } = this.#p;
    const ownMs = directives.delayOf(request.host);
    this.#order.threads.ended(request.id);
    if (!this.#open.delete(request.id) || visit?.open?.id !== request.id) {
      networks?.requestEnded(request.host, endedAt, Math.max(ownMs, store.delayOf(request.host)));
      pages?.ended(request.id, false);
      return { page: null };
    }
    visit.open = null;
    const { record } = visit;
    record.lastFetchAt = endedAt;
    const { finished, queueDrop, isReopened } =
      outcome.kind === 'robots'
        ? robotsEnded(this.#page, visit, outcome)
        : outcome.kind === 'failure' && request.kind === 'robots'
          ? robotsFailed(this.#page, visit, outcome)
          : pageEnded(this.#page, record, outcome);
    pages?.ended(request.id, finished.page !== null);
    if (isReopened) pages?.giveBack(1);
    visit.queueDrop ??= queueDrop;
    this.#slowHosts.answered(request.host, outcome.durationMs, endedAt);
    record.delayMs = demandedDelay(this.#p.delays, {
      ...{ ownMs, durationMs: outcome.durationMs },
      ...{ crawlDelayMs: visit.gate.crawlDelayMs, slowDown: slowDownOf(record.stale) },
    });
    store.saveHost(record, outcome.ip);
    const delayMs = Math.max(ownMs, record.delayMs);
    this.#p.right.delay(request.host, endedAt, delayMs);
    networks?.requestEnded(request.host, endedAt, delayMs);
    this.#places.answered(visit);
    if (this.#keepsPlace(visit, now)) this.#order.dueAt(visit, now.mono);
    else {
      this.#end(visit);
      this.#schedule.comeBack(request.host);
    }
    return finished;
  }

  /** Whether the visit continues, in a place of the kind that the host now needs. */
  #keepsPlace(visit: Visit, now: Instant): boolean {
    if (visit.queueDrop) return true;
    const isSlow = this.#slowHosts.until(visit.record.host) > now.mono;
    const place = isSlow ? 'slow' : 'ordinary';
    if (visit.place !== place) {
      if (!this.#places.mayEnter(isSlow ? 'slow' : 'back')) return false;
      this.#places.move(visit, place);
      return true;
    }
    // If other hosts wait for a place, a slow host leaves its place after each request.
    if (!this.#places.isFull(place)) return true;
    if (isSlow) return !this.#schedule.hasReady('slow');
    if (now.mono - visit.since < PLACE_MS) return true;
    return !this.#schedule.hasReady('back') && !this.#schedule.hasReady('new');
  }
}
