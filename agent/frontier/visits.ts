// The visits: each thread crawls one host at a time, robots.txt first, then its queue breadth
// first, one request at a time, with the politeness delay between the end of one and the start of
// the next. A thread leaves its host when the queue is empty, the page limit is reached or the
// host has to be left alone for longer than a delay; hosts come up in the order of discovery. Pure:
// the core calls `tick` and `finish` each turn, requests go into the turn's effects, state into
// the frontier store. Before each request the fetch right is asked.

import type { Instant } from '../../failure-detector/instant.ts';
import type { Effects, PageRequest } from '../core/effects.ts';
import type { Right } from '../core/fetch-right.ts';
import type { Host, UrlItem } from '../core/messages.ts';
import type { FailureOutcome, Outcome, ResponseOutcome } from '../core/outcome.ts';
import type { Finished, Visits as VisitsPort } from '../core/visits.ts';
import { MinHeap } from './min-heap.ts';
import { ParkedHosts } from './parked-hosts.ts';
import { verdictOn } from './retry.ts';
import { originOf, RobotsGate, type RobotsRules } from './robots-gate.ts';
import type { FrontierStore, HostRecord, QueuedUrl } from './store.ts';

/** URLs that robots.txt forbids, skipped in one step before other hosts get their turn. */
const SKIPS_PER_STEP = 200;
/** A thread stays with its host for waits up to this beyond the delay; longer ones free it. */
const PATIENCE_MS = 1000;
/** How soon a missing lease is asked for again, as a share of the heartbeat interval. */
const LEASE_RETRY = 0.25;

export interface VisitsParts {
  readonly store: FrontierStore;
  readonly effects: Effects;
  readonly right: {
    check(host: Host, now: Instant, untouched: boolean): Right;
    waitUntil(host: Host, untilMs: number): void;
  };
  readonly threads: number;
  readonly hostDelayMs: number;
  readonly heartbeatMs: number;
  readonly pagesPerHost: number;
  readonly robots: boolean;
  readonly parseRobots: (body: Uint8Array) => RobotsRules;
}

interface Visit {
  readonly record: HostRecord;
  readonly gate: RobotsGate;
  open: PageRequest | null;
  /** The origin whose robots.txt is being asked for; redirects may have led elsewhere. */
  robotsOf: string;
  dueAt: number;
}

export class Visits implements VisitsPort {
  readonly #p: VisitsParts;
  readonly #parked: ParkedHosts;
  readonly #visits = new Map<Host, Visit>();
  readonly #due = new MinHeap<Visit>();
  readonly #open = new Map<number, PageRequest>();
  #lastRequest = 0;

  constructor(parts: VisitsParts) {
    this.#p = parts;
    this.#parked = new ParkedHosts((host) => parts.store.host(host).number);
  }

  queued(host: Host): void {
    if (!this.#visits.has(host) && !this.#parked.has(host)) this.#parked.ready(host);
  }

  wake(host: Host): void {
    this.#parked.unblock(host);
  }

  wakeAll(): void {
    this.#parked.unblockAll();
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

  nextAtMs(): number {
    const startable = this.#parked.hasReady() && this.#visits.size < this.#p.threads;
    return startable ? 0 : Math.min(this.#due.firstKey, this.#parked.nextWakeMs());
  }

  tick(now: Instant, holdBack: boolean): void {
    this.#parked.wakeUntil(now.mono);
    while (this.#visits.size < this.#p.threads) {
      const host = this.#parked.takeReady();
      if (host === undefined) break;
      const record = this.#p.store.host(host);
      const gate = new RobotsGate(this.#p.store, record.number, this.#p.parseRobots);
      const visit: Visit = { record, gate, open: null, robotsOf: '', dueAt: 0 };
      this.#visits.set(host, visit);
      this.#dueAt(visit, now.mono);
    }
    while (this.#due.firstKey <= now.mono) {
      const at = this.#due.firstKey;
      const visit = this.#due.pop();
      if (!visit || visit.dueAt !== at || visit.open) continue;
      if (this.#visits.get(visit.record.host) !== visit) continue;
      if (holdBack) this.#dueAt(visit, now.mono + this.#p.heartbeatMs * LEASE_RETRY);
      else this.#step(visit, now);
    }
  }

  #dueAt(visit: Visit, at: number): void {
    visit.dueAt = at;
    this.#due.push(at, visit);
  }

  /** Brings one visit to its next request, wait or end. */
  #step(visit: Visit, now: Instant): void {
    const { record } = visit;
    const untouched = record.lastFetchAt === null;
    const right = this.#p.right.check(record.host, now, untouched);
    if (right.kind === 'foreign') return this.#end(visit);
    if (right.kind === 'blocked') {
      this.#end(visit);
      return this.#parked.block(record.host);
    }
    const busyUntil = right.kind === 'wait' ? right.untilMs : 0;
    const untilMs = Math.max(busyUntil, record.notBefore);
    if (untilMs > now.mono) return this.#wait(visit, untilMs, now);
    if (right.kind === 'no-lease') {
      return this.#dueAt(visit, now.mono + this.#p.heartbeatMs * LEASE_RETRY);
    }
    for (let skips = 0; skips < SKIPS_PER_STEP; skips++) {
      const next = this.#p.store.nextUrl(record.number, now.mono);
      if (!next) return this.#exhausted(visit);
      if (record.pagesDone >= this.#p.pagesPerHost) {
        this.#p.store.skipQueued(record.number, 'pages');
        return this.#end(visit);
      }
      if (this.#pass(visit, next, now)) return;
    }
    this.#dueAt(visit, now.mono);
  }

  /** The URL is requested, or robots.txt before it, or waited for; false: it was skipped. */
  #pass(visit: Visit, next: QueuedUrl, now: Instant): boolean {
    const { record } = visit;
    if (!this.#p.robots) return this.#request(visit, 'page', next);
    const gate = visit.gate.check(next.url, now.mono);
    switch (gate.kind) {
      case 'pass':
        return this.#request(visit, 'page', next);
      case 'disallowed':
        this.#p.store.skip(record.number, next.url, 'robots');
        return false;
      case 'fetch': {
        const { url } = gate;
        visit.robotsOf = originOf(next.url);
        return this.#request(visit, 'robots', { ...next, url, fetchUrl: url, attempts: 0 });
      }
      case 'wait':
        this.#wait(visit, gate.untilMs, now);
        return true;
      case 'given-up': {
        const origin = originOf(next.url);
        if (gate.reason === '') this.#p.store.skipQueuedOf(record.number, origin, 'robots');
        else record.pagesDone += this.#fail(record, origin, gate.reason, now);
        return false;
      }
    }
  }

  #fail(record: HostRecord, origin: string, error: string, now: Instant): number {
    return this.#p.store.failQueued(record.number, origin, error, now.mono);
  }

  #request(visit: Visit, kind: PageRequest['kind'], next: QueuedUrl): boolean {
    const id = ++this.#lastRequest;
    const { host } = visit.record;
    const request: PageRequest = { id, kind, host, ...next };
    visit.open = request;
    this.#open.set(id, request);
    this.#p.effects.push({ type: 'request', request });
    return true;
  }

  /** Short waits keep the thread, long ones free it for another host. */
  #wait(visit: Visit, untilMs: number, now: Instant): void {
    if (untilMs - now.mono <= this.#p.hostDelayMs + PATIENCE_MS) return this.#dueAt(visit, untilMs);
    this.#end(visit);
    this.#parked.sleep(visit.record.host, untilMs);
  }

  /** Nothing to fetch just now: the host is empty, or all it has is waiting. */
  #exhausted(visit: Visit): void {
    this.#end(visit);
    const at = this.#p.store.nextUrlAt(visit.record.number);
    if (at !== null) this.#parked.sleep(visit.record.host, at);
  }

  #end(visit: Visit): void {
    this.#visits.delete(visit.record.host);
  }

  finish(outcome: Outcome, now: Instant): Finished {
    const { request, endedAt } = outcome;
    this.#open.delete(request.id);
    this.#p.right.waitUntil(request.host, endedAt + this.#p.hostDelayMs);
    const visit = this.#visits.get(request.host);
    const record = visit?.record ?? this.#p.store.host(request.host);
    record.lastFetchAt = endedAt;
    let finished: Finished;
    if (outcome.kind === 'robots' && visit) {
      const { waitUntil } = visit.gate.answered(visit.robotsOf, outcome, request.host);
      record.notBefore = Math.max(record.notBefore, waitUntil);
      finished = { page: null, requeued: false };
    } else if (outcome.kind === 'robots') {
      finished = { page: null, requeued: false };
    } else {
      finished = this.#finishPage(record, outcome);
    }
    this.#p.store.saveHost(record, outcome.ip);
    if (visit?.open?.id === request.id) {
      visit.open = null;
      this.#dueAt(visit, now.mono);
    } else {
      this.queued(request.host);
    }
    return finished;
  }

  #finishPage(record: HostRecord, outcome: ResponseOutcome | FailureOutcome): Finished {
    const { request, endedAt } = outcome;
    const { store } = this.#p;
    const verdict = verdictOn(outcome, request.attempts, record);
    this.#noteTrouble(record, outcome);
    switch (verdict.kind) {
      case 'withdrawn':
        return { page: null, requeued: true };
      case 'blocked':
        if (request.kind === 'robots') store.skipQueued(record.number, 'blocked');
        else store.skip(record.number, request.url, 'blocked');
        return { page: null, requeued: false };
      case 'again': {
        const until = endedAt + verdict.waitMs;
        if (verdict.of === 'host') {
          record.notBefore = Math.max(record.notBefore, until);
          this.#p.right.waitUntil(record.host, until);
        }
        store.requeue(record.number, request.url, request.attempts + 1, until);
        return { page: null, requeued: true };
      }
      case 'final':
        return this.#record(record, outcome);
    }
  }

  /** Answers that say "busy" and failed connections in a row; any other answer ends the row. */
  #noteTrouble(record: HostRecord, outcome: ResponseOutcome | FailureOutcome): void {
    if (outcome.kind === 'failure') {
      if (outcome.cause === 'connection') record.unconnected++;
      return;
    }
    record.unconnected = 0;
    record.busy = outcome.status === 429 || outcome.status === 503 ? record.busy + 1 : 0;
  }

  #record(record: HostRecord, outcome: ResponseOutcome | FailureOutcome): Finished {
    const { request, endedAt, durationMs } = outcome;
    const { store } = this.#p;
    const attempts = request.attempts + 1;
    const common = { url: request.url, fetchedAt: endedAt, durationMs, attempts };
    record.pagesDone++;
    if (outcome.kind === 'failure') {
      const none = { status: null, contentType: null, bytes: 0, digest: null, redirectTo: null };
      store.recordPage(record.number, { ...common, ...none, error: outcome.code });
      if (outcome.cause === 'connection')
        this.#giveUpOrigin(record, request, outcome.code, endedAt);
      return { page: { host: request.host, url: request.url, links: [] }, requeued: false };
    }
    const { status, contentType, bytes, digest, redirectTo, note: error } = outcome;
    const answer = { status, contentType, bytes, digest, redirectTo, error };
    store.recordPage(record.number, { ...common, ...answer });
    if (outcome.outOfScope > 0) store.countOutOfScope(record.number, outcome.outOfScope);
    const links = outcome.links.map((link) => itemOf(link, request));
    return { page: { host: request.host, url: request.url, links }, requeued: false };
  }

  /** No connection after all attempts: what else is queued there would only wait as long again. */
  #giveUpOrigin(record: HostRecord, request: PageRequest, code: string, at: number): void {
    record.pagesDone += this.#p.store.failQueued(record.number, originOf(request.url), code, at);
    record.unconnected = 0;
  }
}

/** Depth: 0 on another host, else the finder's + 1; a redirect on the same host keeps it. */
function itemOf(link: ResponseOutcome['links'][number], from: PageRequest): UrlItem {
  const here = link.host === from.host;
  const depth = here ? from.depth + (link.redirect ? 0 : 1) : 0;
  const item = { url: link.url, depth, referrer: from.url };
  return link.fetchUrl === undefined ? item : { ...item, fetchUrl: link.fetchUrl };
}
