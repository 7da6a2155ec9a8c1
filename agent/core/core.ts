// The protocol of one agent, without I/O: what it says, fetches and decides as a function of the
// messages, outcomes and time it is given (PROTOCOL; docs/ARCHITECTURE.md). The runtime calls the
// doors (`onMessage`, `onPage`, then `onDeadline` once a turn), commits the store, and performs
// the effects; the simulator does the same on virtual time. This file wires the parts of the
// protocol together and holds what concerns several of them: view changes, rebirth, join.

import { FailureDetector } from '../../failure-detector/detector.ts';
import type { Instant } from '../../failure-detector/instant.ts';
import { Lease } from '../../failure-detector/lease.ts';
import { StallWatch } from '../../failure-detector/stall.ts';
import { assertNever } from './assert-never.ts';
import { Completion } from './completion.ts';
import type { Effects } from './effects.ts';
import { type Course, Ending } from './ending.ts';
import { FetchRight } from './fetch-right.ts';
import { HandOff } from './hand-off.ts';
import { HostMoves } from './host-moves.ts';
import { Membership, type RemovalReason } from './membership.ts';
import type { AgentId, Envelope, Host, Incarnation, Message, UrlItem } from './messages.ts';
import { Outbound } from './outbound.ts';
import type { Outcome } from './outcome.ts';
import { Routing } from './routing.ts';
import { SeenFilter } from './seen-filter.ts';
import type { CoreSettings } from './settings.ts';
import { Settlement } from './settlement.ts';
import type { SkipReason, Store } from './store.ts';
import { type Member, View } from './view.ts';
import type { Visits } from './visits.ts';

export interface CoreParts {
  readonly settings: CoreSettings;
  readonly store: Store;
  readonly effects: Effects;
  /** The host of a canonical URL, or null where it is not one. */
  readonly hostOf: (url: string) => Host | null;
  /** Why a URL found here is not to be queued, or null. */
  readonly admit: (item: UrlItem) => SkipReason | null;
  readonly seeds: readonly UrlItem[];
  /** Makes the visits, which ask the fetch right given to them. */
  readonly visits: (right: FetchRight) => Visits;
}

export class Core {
  readonly #settings: CoreSettings;
  readonly #store: Store;
  readonly #effects: Effects;
  readonly #seeds: readonly UrlItem[];
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #detector: FailureDetector;
  readonly #lease: Lease;
  readonly #stall: StallWatch;
  readonly #right: FetchRight;
  readonly #handOff: HandOff;
  readonly #moves: HostMoves;
  readonly #seen = new SeenFilter();
  readonly #settlement: Settlement;
  readonly #routing: Routing;
  readonly #completion: Completion;
  readonly #membership: Membership;
  readonly #visits: Visits;
  readonly #ending: Ending;
  readonly #aborted = new Set<number>();
  #seeded = false;
  #startedAt = 0;
  #heartbeatAt = 0;

  constructor(parts: CoreParts) {
    const { settings, store, effects } = parts;
    this.#settings = settings;
    this.#store = store;
    this.#effects = effects;
    this.#seeds = parts.seeds;
    this.#view = new View(settings);
    this.#outbound = new Outbound(settings, effects, this.#view);
    this.#detector = new FailureDetector({ suspectAfterMs: settings.suspectAfterMs });
    this.#lease = new Lease({ leaseMs: settings.leaseMs });
    this.#stall = new StallWatch({ leaseMs: settings.leaseMs });
    this.#handOff = new HandOff(settings, this.#view, this.#outbound);
    this.#moves = new HostMoves(settings, store, this.#view, this.#handOff);
    this.#right = new FetchRight(settings, this.#view, this.#lease, this.#handOff);
    this.#settlement = new Settlement(store);
    this.#visits = parts.visits(this.#right);
    this.#routing = new Routing({
      settings,
      store,
      view: this.#view,
      outbound: this.#outbound,
      seen: this.#seen,
      settlement: this.#settlement,
      admit: parts.admit,
      hostOf: parts.hostOf,
      onQueued: (host) => this.#visits.queued(host),
      isOpen: (host) => this.#visits.isOpen(host),
    });
    this.#completion = new Completion(settings, this.#view);
    this.#membership = new Membership({
      settings,
      view: this.#view,
      outbound: this.#outbound,
      detector: this.#detector,
      lease: this.#lease,
      changes: {
        added: (member, now) => this.#added(member, now),
        removing: (member) => this.#moves.before(member),
        removed: (member, why, now) => this.#removed(member, why, now),
        disowned: (above, now) => this.#rebirth(above, now),
        refused: (message) => this.#ending.end(5, message),
        impostor: (inc) => this.#endAsImpostor(inc),
      },
    });
    this.#ending = new Ending({
      settings,
      store,
      effects,
      view: this.#view,
      outbound: this.#outbound,
      handOff: this.#handOff,
      moves: this.#moves,
      routing: this.#routing,
      completion: this.#completion,
      visits: this.#visits,
      isIdle: () => this.#isIdle(),
      incarnation: () => this.#outbound.inc,
      abort: (request, why) => this.#abort(request, why),
    });
  }

  // ---- doors

  /** Once, right after the socket is bound. */
  start(now: Instant): void {
    this.#stall.turned(now);
    this.#settlement.restore(this.#store.lastOutboxId());
    this.#store.raiseCounter(Math.floor(now.wall) * 1024);
    this.#incarnate(Math.max(this.#store.incarnation(), Math.floor(now.wall)), now);
    for (const host of this.#store.hostsWithQueue()) this.#visits.queued(host);
  }

  onMessage(envelope: Envelope, now: Instant): void {
    if (this.#ending.course === 'ended' || this.#noticesStall(now)) return;
    this.#receive(envelope, now, false);
  }

  #receive(envelope: Envelope, now: Instant, relayed: boolean): void {
    const { message, from } = envelope;
    switch (message.type) {
      case 'HELLO':
        this.#membership.onHello(envelope, message, now);
        return this.#ending.answerComplete(envelope, message.address);
      case 'HEARTBEAT':
        return this.#membership.onHeartbeat(envelope, message, now, relayed);
      case 'REFUSED':
        if (envelope.to.inc !== this.#outbound.inc) return;
        return this.#membership.onRefused(from.id, message);
      default:
    }
    if (!this.#membership.accepts(envelope)) return;
    if (message.type === 'WELCOME') return this.#membership.onWelcome(message, now);
    if (message.type === 'COMPLETE') return this.#ending.onComplete(from.id);
    const member = this.#view.get(from.id);
    if (!member || member.card.inc !== from.inc) return;
    this.#onMemberMessage(member, envelope, now);
  }

  #onMemberMessage(member: Member, envelope: Envelope, now: Instant): void {
    const { message } = envelope;
    switch (message.type) {
      case 'LIST':
        return this.#onList(member, message, now);
      case 'LIST_ACK':
        return this.#handOff.onListAck(member, message.list, message.part);
      case 'YIELD':
        return this.#onYield(member, message, now);
      case 'YIELD_ACK': {
        const hosts = message.items.map((item) => item.host);
        return this.#handOff.onYieldAck(member, message.list, hosts);
      }
      case 'URLS':
        this.#completion.activity();
        return this.#routing.onUrls(member, message);
      case 'URLS_ACK':
        return this.#routing.onUrlsAck(member, message.batch, message.notMine, now);
      case 'BATCH_REFUSED':
        return this.#routing.onBatchRefused(member, message.batch, message.reason, now);
      case 'LEAVE':
        return this.#membership.remove(member, 'left', now);
      case 'RELAY':
        return this.#onRelay(member, message, now);
      case 'HELLO':
      case 'WELCOME':
      case 'REFUSED':
      case 'HEARTBEAT':
      case 'COMPLETE':
      case 'CONTROL':
      case 'CONTROL_ACK':
        return;
      default:
        assertNever(message);
    }
  }

  /** What became of a request of this process, whichever incarnation made it. */
  onPage(outcome: Outcome, now: Instant): void {
    this.#noticesStall(now);
    this.#aborted.delete(outcome.request.id);
    const { page, requeued } = this.#visits.finish(outcome, now);
    this.#completion.activity();
    if (requeued) this.#routing.requeued(outcome.request.host);
    if (!page) return;
    const { outboxIds } = this.#routing.route(page.links);
    this.#settlement.add(page.host, page.url, outboxIds);
  }

  /** Everything that time, or the messages and outcomes of this turn, made due. */
  onDeadline(now: Instant): void {
    if (this.#ending.course === 'ended' || this.#noticesStall(now)) return;
    this.#membership.judge(now);
    this.#tryJoin(now);
    this.#abortUnleased(now);
    this.#right.sweep(now);
    this.#settlement.pump();
    this.#routing.pump(now);
    this.#moves.pump(this.#visits, this.#right, this.#routing, now);
    if (this.#ending.course === 'crawling') this.#visits.tick(now, this.#routing.isFull);
    if (now.mono - this.#heartbeatAt >= this.#settings.heartbeatMs) this.#beat(now);
    this.#ending.pump(now);
  }

  /** The turn's transaction is committed (PROTOCOL-CASES C8). */
  committed(): void {
    this.#seen.committed();
  }

  /** When `onDeadline` must be called at the latest, on the monotonic clock. */
  nextDeadlineMs(now: Instant): number {
    const housekeeping = Math.min(100, Math.max(10, this.#settings.heartbeatMs / 10));
    return Math.min(now.mono + housekeeping, this.#visits.nextAtMs());
  }

  /** Whether an open request may be written, or go on, at this very moment. */
  mayWrite(host: Host, now: Instant): boolean {
    return !this.#noticesStall(now) && this.#right.holds(host, now);
  }

  /** Graceful leave: everything is handed over, then LEAVE and the end with 0. */
  leave(now: Instant): void {
    if (!this.#ending.leave(now)) return;
    this.#right.closed = true;
    this.#moves.leave(now);
    this.#routing.viewChanged();
    this.#completion.activity();
  }

  /** Stop of all: no hand-over, everything stays here for the next start; ends with 11. */
  stop(now: Instant): void {
    this.#ending.stop(now);
    this.#right.closed = true;
  }

  // ---- the view and the hosts

  #added(member: Member, now: Instant): void {
    this.#handOff.expectListFrom(member.card.id);
    if (member.joined) this.#right.releaseAll();
    this.#moves.added(member, this.#ending.course === 'leaving', now);
    this.#viewChanged();
    const { id, inc, capacity } = member.card;
    this.#store.event(now.mono, 'join', { agent: id, incarnation: inc, capacity });
  }

  #removed(member: Member, why: RemovalReason, now: Instant): void {
    const { id, inc } = member.card;
    this.#effects.push({ type: 'forget-peer', id });
    this.#ending.forget(id);
    this.#right.upheaval(now.mono);
    this.#handOff.forget(id);
    this.#moves.after(this.#visits, now);
    this.#viewChanged();
    const silentMs = Math.round(now.mono - member.heardAt);
    const kind = why === 'left' ? 'leave' : why === 'suspected' ? 'suspect' : 'remove';
    this.#store.event(now.mono, kind, { agent: id, incarnation: inc, silentMs });
  }

  #viewChanged(): void {
    this.#completion.activity();
    this.#right.releaseForeign();
    this.#routing.viewChanged();
    this.#visits.wakeAll();
  }

  #onList(from: Member, list: Parameters<HandOff['onList']>[1], now: Instant): void {
    this.#completion.activity();
    if (list.leaving && !from.leaving) {
      this.#moves.before(from);
      this.#view.markLeaving(from);
      this.#moves.after(this.#visits, now);
      this.#viewChanged();
    }
    for (const host of this.#handOff.onList(from, list)) this.#right.release(host);
    if (!this.#handOff.owedAny()) this.#visits.wakeAll();
  }

  #onYield(from: Member, message: Parameters<HandOff['onYield']>[1], now: Instant): void {
    this.#completion.activity();
    const freed = this.#handOff.onYield(from, message, this.#membership.joined);
    for (const { host, waitMs } of freed) {
      this.#right.waitUntil(host, now.mono + waitMs);
      this.#visits.wake(host);
    }
  }

  /** For this agent it is opened; for another it is passed on, if it comes from its origin. */
  #onRelay(from: Member, relay: Extract<Message, { type: 'RELAY' }>, now: Instant): void {
    if (relay.to === this.#settings.id) {
      const { envelope } = relay;
      if (envelope.message.type !== 'RELAY') this.#receive(envelope, now, true);
      return;
    }
    const member = this.#view.get(relay.to);
    if (member && relay.origin === from.card.id) this.#outbound.passOn(member, relay);
  }

  // ---- incarnations

  #noticesStall(now: Instant): boolean {
    const { stalled, gapMs } = this.#stall.turned(now);
    if (stalled) {
      this.#rebirth(0, now);
      return true;
    }
    if (gapMs > 3 * this.#settings.heartbeatMs) {
      this.#detector.excuse(now.mono, this.#settings.suspectAfterMs * 0.3);
    }
    return false;
  }

  /** PROTOCOL rule 4: every right is dropped, and a higher incarnation joins anew. */
  #rebirth(above: Incarnation, now: Instant): void {
    if (this.#ending.course === 'ended') return;
    this.#store.event(now.mono, 'rejoin', { above, was: this.#outbound.inc });
    for (const { id } of this.#visits.open()) this.#abort(id, 'this incarnation is gone');
    this.#effects.push({ type: 'woke' });
    this.#incarnate(Math.max(above, this.#outbound.inc, this.#store.incarnation()), now);
    this.#visits.wakeAll();
  }

  #incarnate(above: Incarnation, now: Instant): void {
    const inc = above + 1;
    this.#store.saveIncarnation(inc);
    this.#outbound.inc = inc;
    this.#startedAt = now.mono;
    this.#heartbeatAt = -Infinity;
    this.#right.reset(now);
    this.#handOff.reset();
    this.#moves.reset();
    this.#routing.reset();
    this.#completion.reset();
    this.#ending.reborn();
    this.#membership.reset(now);
  }

  #tryJoin(now: Instant): void {
    if (this.#membership.joined || this.#handOff.owedAny()) return;
    if (!this.#membership.allMet(now)) return;
    this.#membership.joined = true;
    this.#right.joined = true;
    this.#ending.joined();
    this.#completion.activity();
    this.#routing.join();
    if (!this.#seeded) this.#routing.route(this.#seeds);
    this.#seeded = true;
    this.#visits.wakeAll();
    const tookMs = Math.round(now.mono - this.#startedAt);
    const { id } = this.#settings;
    const detail = { agent: id, incarnation: this.#outbound.inc, members: this.#view.size + 1 };
    this.#store.event(now.mono, 'join', { ...detail, tookMs });
    this.#beat(now);
  }

  #beat(now: Instant): void {
    if (this.#heartbeatAt !== -Infinity && !this.#membership.joined) this.#membership.greet();
    this.#heartbeatAt = now.mono;
    const counter = this.#membership.nextCounter();
    const { idle, idleSince } = this.#completion.sample(this.#isIdle(), counter);
    const viewHash = this.#view.hash(this.#outbound.inc);
    this.#membership.beat({ idle, idleSince, viewHash }, now);
    this.#ending.tellComplete();
  }

  /** A request outlives its lease by no more than the housekeeping interval. */
  #abortUnleased(now: Instant): void {
    for (const { id, host } of this.#visits.open()) {
      if (!this.#right.holds(host, now)) this.#abort(id, 'the fetch right lapsed');
    }
  }

  #abort(request: number, why: string): void {
    if (this.#aborted.has(request)) return;
    this.#aborted.add(request);
    this.#effects.push({ type: 'abort', request, why });
  }

  #isIdle(): boolean {
    return (
      this.#membership.joined &&
      this.#seeded &&
      (this.#ending.course === 'crawling' || this.#ending.course === 'complete') &&
      this.#visits.openCount() === 0 &&
      this.#store.queuedCount() === 0 &&
      this.#settlement.isQuiet &&
      this.#routing.isQuiet &&
      this.#moves.isQuiet &&
      this.#handOff.isQuiet()
    );
  }

  #endAsImpostor(inc: Incarnation): void {
    const { id } = this.#settings;
    this.#ending.end(
      5,
      `another process runs as agent ${id} (incarnation ${inc}): stop one of the two`,
    );
  }

  // ---- what status shows

  snapshot(now: Instant): CoreSnapshot {
    return {
      id: this.#settings.id,
      incarnation: this.#outbound.inc,
      joined: this.#membership.joined,
      course: this.#ending.course,
      idle: this.#isIdle(),
      members: [...this.#view.members()].map((m) => ({
        ...m.card,
        joined: m.joined,
        leaving: m.leaving,
        silentMs: Math.round(now.mono - m.heardAt),
        relayed: !m.hearsMe,
      })),
      openRequests: this.#visits.openCount(),
      queued: this.#store.queuedCount(),
      outbox: this.#store.outboxCount(),
      unsettled: this.#settlement.count,
      handOff: this.#handOff.counts(),
    };
  }
}

export interface CoreSnapshot {
  readonly id: AgentId;
  readonly incarnation: Incarnation;
  readonly joined: boolean;
  readonly course: Course['kind'];
  readonly idle: boolean;
  readonly members: readonly {
    readonly id: AgentId;
    readonly inc: Incarnation;
    readonly capacity: number;
    readonly address: string;
    readonly joined: boolean;
    readonly leaving: boolean;
    readonly silentMs: number;
    readonly relayed: boolean;
  }[];
  readonly openRequests: number;
  readonly queued: number;
  readonly outbox: number;
  readonly unsettled: number;
  readonly handOff: { given: number; owed: number; awaited: number };
}
