// The protocol of one agent (docs/PROTOCOL.md), without I/O: messages, outcomes and time change its
// state and produce effects. The runtime calls `onMessage`, `onPage` and, once a turn, `onDeadline`,
// commits the store and performs the effects; the simulator does the same in virtual time. This file
// holds what concerns several parts: dispatch of messages, view changes, rebirth and join.

import type { Assignment } from '../../assignment/assignment.ts';
import type { Instant } from '../../failure-detector/instant.ts';
import { type Assembly, assemble, type CoreParts } from './assembly.ts';
import type { Destination } from './budgets/address-permits.ts';
import type { HandOff } from './hand-off/hand-off.ts';
import type { MemberMessage } from './membership/gate.ts';
import type { Removal } from './membership/membership.ts';
import type { Member } from './membership/view.ts';
import type { Operator } from './operator/operator.ts';
import { assertNever } from './protocol/assert-never.ts';
import type { Store } from './protocol/core-store.ts';
import type { Effects } from './protocol/effects.ts';
import type { AgentId, Envelope, Host, Incarnation, Message } from './protocol/messages.ts';
import type { Outcome } from './protocol/outcome.ts';
import { isOverlayMessage } from './protocol/overlay-messages.ts';
import type { Part } from './protocol/part.ts';
import { IDENTIFIERS_MAX, putLatest } from './protocol/put-latest.ts';
import type { CoreSettings } from './protocol/settings.ts';
import { type CoreSnapshot, snapshotOf } from './snapshot.ts';

type Heartbeat = Extract<Message, { type: 'HEARTBEAT' }>;

export class Core {
  readonly #settings: CoreSettings;
  readonly #store: Store;
  readonly #effects: Effects;
  readonly #p: Assembly;
  readonly #parts: readonly Part[];
  #startedAt = 0;
  /** When this agent lost contact with the others; null: it has not, or has joined again. */
  #awaySince: number | null = null;
  /** When removed members were last heard; entries end when they return. */
  readonly #lostAt = new Map<AgentId, number>();
  #heartbeatAt = 0;
  #beatAfterMs = 0;

  constructor(parts: CoreParts) {
    this.#store = parts.store;
    this.#effects = parts.effects;
    this.#p = assemble(parts, {
      isIdle: () => this.#isIdle(),
      moved: (now) => {
        this.#p.view.moved();
        this.#viewChanged(now);
      },
      areHostsSettled: () => {
        const { handOff, moves, requeues, operator } = this.#p;
        return [handOff, moves, requeues, operator].every(({ isQuiet }) => isQuiet);
      },
      lookAtHosts: () => this.#p.moves.lookAgain(),
      changes: {
        added: (member, now) => this.#added(member, now),
        removed: (member, why, placement, now) => this.#removed(member, why, placement, now),
        calledGone: (above, why, now) =>
          this.#rebirth(above, why, now, this.#p.view.lastEchoAt(now.mono)),
        greeted: (member, counter, now) => this.#p.moves.setBack(member, counter, now),
        refused: (message) => this.#p.shutdown.end(5, message),
        impostor: (inc) => this.#p.shutdown.endAsImpostor(inc),
        parted: (member, placement, now) => this.#parted(member, placement, now),
        isHandingOver: (member) => this.#p.handOff.isWith(member.card.id),
      },
    });
    this.#settings = this.#p.directed.settings;
    this.#parts = this.#inOrder();
  }

  /** The parts in the order in which they run in a turn. */
  #inOrder(): readonly Part[] {
    const p = this.#p;
    const { membership, shutdown, handOff, seeds, visits } = p;
    return [
      // Membership runs first: all other parts act on the view.
      {
        reset: (now) => membership.reset(now),
        // An agent about to exit removes nobody: the crawl is complete, so no host needs an owner.
        pump: (now) => {
          if (!shutdown.isAboutToGo(now)) membership.pump(now);
        },
      },
      p.neighbours,
      { reset: (now) => p.joinWait.reset(now), pump: (now) => this.#tryJoin(now) },
      // Rights are withdrawn before new work begins.
      { pump: (now) => p.aborts.judge(visits.open(), now) },
      p.right,
      // These parts fill the tables, queues and outbox that the parts below them send from.
      p.backlog,
      { reset: () => p.backlog.delete(seeds) },
      seeds,
      p.moves,
      p.requeues,
      p.settlement,
      { pump: () => p.moves.isQuiet && p.settlement.settleRestored() },
      p.inbox,
      { pump: () => p.view.joined && handOff.answer(p.replication) },
      handOff,
      // Copies are sent before links, because pages settle when their backups have the copies.
      p.replication,
      p.routing,
      // Visits run when all that forbids a request is known, and before the parts that send for them.
      {
        viewChanged: () => visits.keepOnly((host) => p.view.owns(host)),
        pump: (now) => {
          if (shutdown.state === 'crawling') visits.tick(now, p.holdBack.at(now));
        },
        get isQuiet() {
          return visits.isEmpty();
        },
      },
      p.asks,
      p.budgets,
      p.networks,
      { pump: (now) => p.moves.visited(now) },
      p.operator,
      // The heartbeat reports the state at the end of the turn; completion and shutdown follow it.
      { pump: (now) => now.mono - this.#heartbeatAt >= this.#beatAfterMs && this.#beat(now) },
      p.completion,
      shutdown,
      p.quorumWait,
      p.ownCapacity,
    ];
  }

  // ---- entry points

  /** Called once, after the socket is bound. The stored hosts are scheduled after the join. */
  start(now: Instant): void {
    this.#p.stall.turned(now);
    this.#p.shutdown.start(now);
    this.#p.settlement.restore(this.#store.lastOutboxId());
    this.#p.membership.helloCounter = this.#store.counter();
    this.#store.raiseCounter(Math.floor(now.wall) * 1024);
    this.#p.membership.recall(now);
    this.#incarnate(Math.max(this.#store.incarnation(), Math.floor(now.wall)), now);
    this.#p.moves.start();
    this.#p.requeues.refresh.begin(this.#p.directives.round);
  }

  onMessage(envelope: Envelope, now: Instant): void {
    // The socket is bound before the start: an answer would carry an invalid incarnation.
    if (this.#p.outbound.inc === 0) return;
    if (this.#p.shutdown.state === 'ended' || this.#noticesStall(now)) return;
    this.#receive(envelope, now, false);
  }

  #receive(envelope: Envelope, now: Instant, relayed: boolean): void {
    const { message, from, to } = envelope;
    // A PING to an endpoint whose agent is not known yet has no addressee.
    if (to.id !== this.#settings.id && !(message.type === 'PING' && to.id === '')) {
      if (message.type !== 'HELLO') return;
      return this.#p.refused.refuse(from.id, 'hello', `it calls this agent ${to.id}`, now);
    }
    if (!this.#p.gate.admits(envelope, now)) return this.#p.otherSettings.refused(envelope);
    if (isOverlayMessage(message)) return this.#p.neighbours.onMessage(from, message, now);
    switch (message.type) {
      case 'HELLO':
        this.#p.membership.onHello(envelope, message, now);
        return this.#p.shutdown.answerComplete(from);
      case 'PROBE':
        return this.#p.membership.onProbe(envelope, message);
      case 'HEARTBEAT':
        return this.#onHeartbeat(envelope, message, now, relayed);
      case 'REFUSED':
        return this.#p.membership.onRefused(from.id, message, now);
      case 'WELCOME':
        this.#p.operator.onDirectives(from.id, message.orders, now);
        return this.#p.membership.onWelcome(from.id, message, now);
      case 'COMPLETE':
        return this.#p.shutdown.onComplete(from.id, message);
      case 'ROBOTS_ASK':
      case 'ROBOTS_TOLD':
        return this.#p.asks.onMessage(from.id, message, now);
      case 'SLOT_ASK':
      case 'SLOT_GRANT':
      case 'SLOT_END':
      case 'PAGES_ASK':
      case 'PAGES_GRANT':
        return this.#p.budgets.onMessage(from, message, now);
      case 'ORDERS':
        return this.#p.operator.onDirectives(from.id, message.orders, now);
      case 'RELAY': {
        const inner = this.#p.neighbours.onRelay(from, message, now);
        if (inner) this.#receive(inner, now, true);
        return;
      }
      case 'URLS':
        this.#p.completion.activity();
        return this.#p.inbox.onUrls(this.#p.neighbours.cardOf(from)!, message, now);
      case 'URLS_ACK':
        return this.#p.routing.onUrlsAck(from.id, message.batch, message.notMine, now);
      case 'BATCH_REFUSED':
        return this.#p.routing.onBatchRefused(from.id, message.batch, message.reason, now);
      default: {
        const member = this.#p.view.get(from.id);
        if (member) this.#onMemberMessage(member, message, now);
      }
    }
  }

  #onHeartbeat(envelope: Envelope, beat: Heartbeat, now: Instant, relayed: boolean): void {
    this.#p.membership.onHeartbeat(envelope, beat, now, relayed);
    const { id, inc } = envelope.from;
    const member = this.#p.view.get(id);
    if (member?.card.inc !== inc) return;
    this.#p.replication.deletedBy(id, beat.gen, now);
    this.#p.operator.heard(member, beat.orders);
    if (beat.pages) this.#p.budgets.heard(beat.pages.epoch);
  }

  #onMemberMessage(member: Member, message: MemberMessage, now: Instant): void {
    const p = this.#p;
    switch (message.type) {
      case 'LIST':
        return this.#onList(member, message, now);
      case 'LIST_ASK':
        if (!p.handOff.isListingTo(member.card.id)) p.moves.added(member, now, message.leavers);
        return;
      case 'LIST_ACK':
        return p.handOff.onListAck(member, message.list, message.part);
      case 'YIELD':
        return this.#onYield(member, message, now);
      case 'YIELD_ACK':
        return p.moves.returned(
          p.handOff.onYieldAck(member, message.list, message.items, now),
          now,
        );
      case 'ROWS':
        return this.#onRows(member, message, now);
      case 'ROWS_ACK':
        for (const host of p.replication.onRowsAck(member, message, now)) {
          p.settlement.progressed(host);
        }
        return;
      case 'KNOWN':
        return p.known.onAnnounced(member, message);
      case 'COUNT':
      case 'COUNTED':
        return p.budgets.onMessage(member.card, message, now);
      case 'LEAVE':
        return p.membership.remove(member, 'leave', now);
      case 'CONTROL':
      case 'CONTROL_ACK':
        return;
      default:
        assertNever(message);
    }
  }

  /** The outcome of a request of this process, in whichever incarnation it was made. */
  onPage(outcome: Outcome, now: Instant): void {
    this.#noticesStall(now);
    this.#p.completion.activity();
    this.#p.arrivals.take(outcome, now);
  }

  /** Does all that time, or the messages and outcomes of this turn, made due. */
  onDeadline(now: Instant): void {
    if (this.#p.shutdown.state === 'ended' || this.#noticesStall(now)) return;
    if (this.#p.ownCapacity.isDue(now)) return this.#rebirth(0, 'capacity', now, now.mono);
    for (const part of this.#parts) part.pump?.(now);
  }

  /** The turn's transaction is committed. */
  committed(): void {
    this.#p.seen.committed();
  }

  /** The latest monotonic time at which `onDeadline` must be called. */
  nextDeadlineMs(now: Instant): number {
    const housekeeping = Math.min(100, Math.max(10, this.#settings.heartbeatMs / 10));
    if (this.#parts.some((part) => part.isBusy)) return now.mono;
    const visitsAt = this.#p.shutdown.state === 'crawling' ? this.#p.visits.nextAtMs() : Infinity;
    return Math.min(now.mono + housekeeping, visitsAt, this.#p.budgets.nextAtMs(now));
  }

  /** Whether an open request may be written, or may continue, now. */
  mayWrite(host: Host, now: Instant): boolean {
    if (this.#noticesStall(now)) return false;
    const { directives, right, budgets } = this.#p;
    if (directives.paused || directives.blocks(host)) return false;
    if (!right.holds(host, now) || !this.#p.networks.mayGoOn(host, now)) return false;
    return budgets.permits?.mayGoOn(host, now) ?? true;
  }

  /** The destination of the next request to a host; null: no address of it is permitted. */
  onResolved(host: Host, to: Destination | null, now: Instant): void {
    this.#p.budgets.permits?.onResolved(host, to, now);
  }

  /** Executes the operator's commands, within a turn. */
  get operator(): Operator {
    return this.#p.operator;
  }

  /** The open requests, and why a host waits. */
  get visits(): Pick<Assembly['visits'], 'openCount' | 'waitOf'> {
    return this.#p.visits;
  }

  /** The owner of a host in the current view. */
  ownerOf(host: Host): AgentId | undefined {
    return this.#p.view.owner(host);
  }

  get whereabouts(): Assembly['whereabouts'] {
    return this.#p.whereabouts;
  }

  /** Hands all hosts over, then sends LEAVE and ends with exit code 0. */
  leave(now: Instant): void {
    if (!this.#p.shutdown.leave(now)) return;
    this.#p.right.closed = true;
    this.#p.overlay.leaves();
    this.#p.moves.leave(now);
    this.#viewChanged(now);
  }

  /** Stops without hand-over; the state stays for the next start. Ends with exit code 11. */
  stop(now: Instant): void {
    this.#p.shutdown.stop(now);
    this.#p.right.closed = true;
  }

  // ---- the view and the hosts

  #added(member: Member, now: Instant): void {
    this.#p.handOff.expectListFrom(member.card.id);
    if (member.joined) this.#p.right.releaseAll();
    // This agent becomes the lease grantor of hosts of the others, which need its echo soon.
    // With many members, which are added one after the other, early heartbeats cost much.
    const share = Math.min(1, Math.max(0.1, this.#p.view.size / 80));
    if (!this.#p.view.joined) this.#beatAfterMs = this.#settings.heartbeatMs * share;
    this.#p.moves.added(member, now);
    this.#viewChanged(now);
    const { id, inc, capacity } = member.card;
    const lostAt = this.#lostAt.get(id);
    this.#lostAt.delete(id);
    const away = lostAt === undefined ? {} : { awayMs: Math.round(now.mono - lostAt) };
    this.#p.events.record(now.mono, 'join', { agent: id, incarnation: inc, capacity, ...away });
  }

  #removed(member: Member, why: Removal, placement: Assignment, now: Instant): void {
    const { id, inc } = member.card;
    this.#effects.push({ type: 'forget-peer', id });
    this.#p.shutdown.forget(id);
    this.#p.right.memberRemoved(now.mono);
    this.#p.budgets.removed(now);
    this.#p.handOff.forget(id);
    this.#p.replication.forget(id);
    this.#p.replication.invalidateAll();
    this.#p.moves.takeOver(member, why, placement, now);
    // A later incarnation is added at once, so its hosts do not move.
    if (why !== 'remove') this.#viewChanged(now);
    const silentMs = Math.round(now.mono - member.heardAt);
    putLatest(this.#lostAt, id, member.heardAt, IDENTIFIERS_MAX);
    this.#p.events.record(now.mono, why, { agent: id, incarnation: inc, silentMs });
  }

  /** This agent and the member need not know each other any more. */
  #parted(member: Member, placement: Assignment | null, now: Instant): void {
    const { id } = member.card;
    this.#effects.push({ type: 'forget-peer', id });
    this.#p.shutdown.forget(id);
    this.#p.handOff.forget(id);
    this.#p.replication.forget(id);
    this.#p.replication.invalidateAll();
    if (placement) this.#p.moves.takeOver(member, 'part', placement, now);
    this.#viewChanged(now);
  }

  #viewChanged(now: Instant): void {
    for (const part of this.#parts) part.viewChanged?.(now);
    this.#p.visits.wakeAll();
  }

  #onList(from: Member, list: Parameters<HandOff['onList']>[1], now: Instant): void {
    this.#p.completion.activity();
    this.#p.budgets.listSays(list.slotsMs, now);
    if (list.leavers.length > 0 && !from.leaving) {
      // Its hosts have other owners from now on; later parts may name some of them.
      const placement = this.#p.view.assignment();
      this.#p.view.markLeaving(from);
      this.#p.handOff.expectListsOfLeavers();
      this.#p.replication.invalidateAll();
      this.#p.moves.takeOver(from, 'leave', placement, now);
      this.#viewChanged(now);
    }
    const named = this.#p.handOff.onList(from, list, now);
    // The list has too many parts. Without echo, the sender is removed like a deaf member.
    if (named === null) from.unechoed = true;
    for (const host of named ?? []) this.#p.right.release(host);
    if (!this.#p.handOff.owedAny()) this.#p.visits.wakeAll();
  }

  #onYield(from: Member, message: Parameters<HandOff['onYield']>[1], now: Instant): void {
    this.#p.completion.activity();
    const freed = this.#p.handOff.onYield(from, message, this.#p.replication);
    for (const { host, waitMs } of freed) {
      this.#p.right.waitUntil(host, now.mono + waitMs);
      this.#p.visits.wake(host);
    }
  }

  #onRows(from: Member, rows: Extract<Message, { type: 'ROWS' }>, now: Instant): void {
    this.#p.completion.activity();
    for (const host of this.#p.intake.onRows(from, rows, now)) {
      this.#p.requeues.received(host);
      if (this.#p.view.owns(host)) this.#p.visits.schedule(host);
    }
  }

  // ---- incarnations

  #noticesStall(now: Instant): boolean {
    const { stalled, gapMs } = this.#p.stall.turned(now);
    if (stalled) {
      this.#rebirth(0, 'stalled', now, now.mono - gapMs);
      return true;
    }
    if (gapMs > 3 * this.#settings.heartbeatMs) this.#p.membership.excuse(now);
    return false;
  }

  /** PROTOCOL rule 4: drops every right and joins again with a higher incarnation. */
  #rebirth(above: Incarnation, why: string, now: Instant, awaySince: number): void {
    if (this.#p.shutdown.state === 'ended') return;
    this.#awaySince ??= awaySince;
    const awayMs = Math.round(now.mono - this.#awaySince);
    this.#p.events.record(now.mono, 'rejoin', { why, above, was: this.#p.outbound.inc, awayMs });
    this.#p.aborts.abort(this.#p.visits.open(), 'this incarnation has ended', now);
    this.#effects.push({ type: 'woke' });
    this.#p.membership.helloCounter = this.#store.counter();
    this.#incarnate(Math.max(above, this.#p.outbound.inc, this.#store.incarnation()), now);
    this.#p.visits.wakeAll();
  }

  #incarnate(above: Incarnation, now: Instant): void {
    const inc = above + 1;
    this.#p.directed.adopt();
    this.#store.saveIncarnation(inc);
    this.#p.outbound.inc = inc;
    this.#startedAt = now.mono;
    this.#heartbeatAt = -Infinity;
    for (const part of this.#parts) part.reset?.(now);
  }

  #tryJoin(now: Instant): void {
    if (this.#p.view.joined || this.#p.handOff.owedAny()) return;
    if (!this.#p.membership.allMet(now)) return this.#p.joinWait.goesOn(now);
    if (!this.#p.joinWait.mayJoin()) return;
    this.#p.view.joined = true;
    this.#p.overlay.joined();
    this.#p.view.moved();
    this.#p.shutdown.joined();
    this.#p.joinWait.joined();
    this.#p.routing.join();
    this.#p.inbox.join();
    this.#viewChanged(now);
    if (!this.#p.seeds.isQuiet) this.#p.backlog.add(this.#p.seeds);
    const tookMs = Math.round(now.mono - this.#startedAt);
    const away = this.#awaySince === null ? {} : { awayMs: Math.round(now.mono - this.#awaySince) };
    this.#awaySince = null;
    const { id, capacity } = this.#settings;
    const view = [id, ...[...this.#p.view.members()].map(({ card }) => card.id)].sort();
    const me = { agent: id, incarnation: this.#p.outbound.inc, capacity };
    this.#p.events.record(now.mono, 'join', { ...me, members: view.length, view, tookMs, ...away });
    this.#beat(now);
  }

  #beat(now: Instant): void {
    if (this.#heartbeatAt !== -Infinity && !this.#p.view.joined) this.#p.membership.greet();
    this.#heartbeatAt = now.mono;
    this.#beatAfterMs = this.#settings.heartbeatMs;
    const counter = this.#p.membership.heartbeats.nextCounter();
    const idle = this.#p.completion.sample(this.#isIdle(), counter);
    const viewHash = this.#p.view.hash(this.#p.outbound.inc);
    const state = { ...idle, ...this.#p.budgets.aboutPages() };
    this.#p.membership.heartbeats.beat({ ...state, viewHash, gen: this.#store.generation() }, now);
    const me = { id: this.#settings.id, inc: this.#p.outbound.inc, counter, ...state };
    this.#p.neighbours.beat(me, now);
    this.#p.shutdown.tellComplete();
  }

  #isIdle(): boolean {
    const { view, directives, shutdown } = this.#p;
    const isCrawling = shutdown.state === 'crawling' || shutdown.state === 'complete';
    if (!view.joined || !view.hasOwners || !isCrawling || directives.paused) return false;
    return this.#parts.every((part) => part.isQuiet !== false);
  }

  snapshot(now: Instant): CoreSnapshot {
    const { id } = this.#settings;
    return snapshotOf(this.#p, this.#store, { id, idle: this.#isIdle() }, now);
  }
}
