// The lifecycle state of this agent, and its shutdown: the crawl is complete (PROTOCOL rule 14), the
// agent leaves after it has handed its hosts over, or the crawl is stopped for a later start. The
// other parts only report whether they have finished.

import type { FailureDetector } from '../../../failure-detector/detector.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { Networks } from '../crawl/networks-port.ts';
import type { Routing } from '../exchange/routing.ts';
import type { HandOff } from '../hand-off/hand-off.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { Overlay } from '../membership/overlay.ts';
import type { Member, View } from '../membership/view.ts';
import type { Aborts } from '../ownership/aborts.ts';
import type { HostMoves } from '../ownership/host-moves.ts';
import type { Store } from '../protocol/core-store.ts';
import type { Directives } from '../protocol/directives.ts';
import type { Effects, End, EndCode } from '../protocol/effects.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { AgentId, Envelope, Message } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Visits } from '../protocol/visits-port.ts';
import type { Completion } from './completion.ts';

/** Milliseconds after which a leaving agent ends, even if hosts are not handed over. */
const LEAVE_MS_MAX = 30_000;
/** Milliseconds for which open requests may finish during a stop before they are aborted. */
const STOP_GRACE_MS = 3_000;
/** Milliseconds for which an agent that is about to end waits for the Redis of its network. */
const TELL_MS_MAX = 5_000;

type Complete = Extract<Message, { type: 'COMPLETE' }>;

/** The lifecycle state. `since` is in monotonic milliseconds. */
export type LifecycleState =
  | { readonly kind: 'crawling' }
  | { readonly kind: 'leaving'; readonly since: number }
  | { readonly kind: 'stopping'; readonly since: number }
  | { readonly kind: 'complete'; readonly since: number }
  | { readonly kind: 'ended' };

interface ShutdownParts {
  readonly settings: CoreSettings;
  readonly store: Store;
  readonly events: EventLog;
  readonly effects: Effects;
  readonly view: View;
  readonly overlay: Pick<Overlay, 'isPartial' | 'tree'>;
  readonly detector: Pick<FailureDetector, 'suspected'>;
  readonly outbound: Outbound;
  readonly handOff: HandOff;
  readonly moves: HostMoves;
  readonly routing: Routing;
  readonly completion: Completion;
  readonly directives: Pick<Directives, 'hash'>;
  readonly visits: Visits;
  /** This agent has joined and has nothing to do, to send or to wait for. */
  readonly isIdle: () => boolean;
  readonly aborts: Pick<Aborts, 'abort'>;
  /** Other networks that crawl the same URLs; absent: there are none. */
  readonly networks: Pick<Networks, 'mayEnd' | 'tellAll'> | undefined;
}

export class Shutdown implements Part {
  readonly #p: ShutdownParts;
  /**
   * Members that said COMPLETE, with the idle period of their latest heartbeat. In a later period a
   * member may have found out about new work, and then says it again.
   */
  readonly #saidComplete = new Map<AgentId, number | undefined>();
  /** The members when this agent found the crawl complete. Those that were added since were away. */
  #membersAtEnd: readonly AgentId[] = [];
  #state: LifecycleState = { kind: 'crawling' };
  /** This process has joined, in this incarnation or an earlier one. */
  #joinedOnce = false;
  /** When this process started. */
  #bornAt = 0;
  /** Since when only the Redis of the network is awaited (mono). */
  #tellingSince: number | null = null;

  constructor(parts: ShutdownParts) {
    this.#p = parts;
  }

  start(now: Instant): void {
    this.#bornAt = now.mono;
  }

  get state(): LifecycleState['kind'] {
    return this.#state.kind;
  }

  joined(): void {
    this.#joinedOnce = true;
  }

  /** A new incarnation continues the crawl; COMPLETE messages to the previous one are void. */
  reset(): void {
    this.#saidComplete.clear();
    if (this.#state.kind === 'complete') this.#state = { kind: 'crawling' };
  }

  forget(id: AgentId): void {
    this.#saidComplete.delete(id);
  }

  /** Whether the agent starts to leave; false: it is not crawling. */
  leave(now: Instant): boolean {
    if (this.#state.kind !== 'crawling') return false;
    this.#state = { kind: 'leaving', since: now.mono };
    return true;
  }

  stop(now: Instant): void {
    if (this.#state.kind === 'stopping' || this.#state.kind === 'ended') return;
    this.#state = { kind: 'stopping', since: now.mono };
  }

  pump(now: Instant): void {
    const state = this.#state;
    if (state.kind === 'crawling') this.#tryComplete(now);
    else if (state.kind === 'complete') this.#tryGo(state.since, now);
    else if (state.kind === 'leaving') this.#tryLeave(state.since, now);
    else if (state.kind === 'stopping') this.#tryStop(state.since, now);
  }

  // ---- complete

  #tryComplete(now: Instant): void {
    const { completion, isIdle, outbound, networks, view, store, events, settings } = this.#p;
    if (!completion.isComplete(isIdle(), outbound.inc)) return;
    if (networks?.mayEnd() === false) return;
    this.#state = { kind: 'complete', since: now.mono };
    this.#tellingSince = null;
    this.#membersAtEnd = completion.members;
    const ids = [view.me, ...[...view.members()].map(({ card }) => card.id)].sort();
    const { backups } = settings;
    const detail = { agents: ids.length, view: ids, pages: store.owned().pages, backups };
    events.record(now.mono, 'complete', { ...detail, tookMs: Math.round(now.mono - this.#bornAt) });
    this.tellComplete();
  }

  /** Stays until all members have said COMPLETE or are without news: they may need its echo. */
  #tryGo(since: number, now: Instant): void {
    // An agent that joined late has brought new URLs, to this agent or to another one.
    if (!this.#p.visits.isEmpty() || this.#isMemberAtWork()) return this.reopen();
    const lingered = now.mono - since >= 2 * this.#p.settings.suspectAfterMs;
    const isTold = this.isAboutToGo(now) && this.#p.overlay.tree.hasToldVerdict;
    if (!lingered && !isTold) this.#tellingSince = null;
    else if (this.#hasTold(now)) this.end(0, 'the crawl is complete');
  }

  #isMemberAtWork(): boolean {
    return [...this.#p.view.members()].some(({ lastHeartbeat }) => lastHeartbeat?.idle === false);
  }

  /** The crawl has work again: if it was complete, it continues. */
  reopen(): void {
    if (this.#state.kind !== 'complete') return;
    this.#saidComplete.clear();
    this.#state = { kind: 'crawling' };
    this.#p.overlay.tree.isComplete = false;
  }

  /** The crawl is complete, and each member has said so or is without news. */
  isAboutToGo(now: Instant): boolean {
    if (this.#state.kind !== 'complete') return false;
    const suspected = new Set(this.#p.detector.suspected(now.mono));
    return [...this.#p.view.members()].every(({ card: { id }, lastHeartbeat }) => {
      if (suspected.has(id)) return true;
      return this.#saidComplete.has(id) && this.#saidComplete.get(id) === lastHeartbeat?.idleSince;
    });
  }

  /** Sends COMPLETE to all members. Called with each heartbeat. */
  tellComplete(): void {
    if (this.#state.kind !== 'complete') return;
    for (const member of this.#p.view.members()) {
      const covers = this.#p.overlay.tree.verdictFor(member.card.id);
      this.#p.outbound.toMember(member, { ...this.#messageTo(member), ...(covers && { covers }) });
    }
  }

  /** Answers the HELLO of a member with COMPLETE: there is no crawl left to join. */
  answerComplete({ id, inc }: Envelope['from']): void {
    const member = this.#p.view.get(id);
    if (this.#state.kind !== 'complete' || member?.card.inc !== inc) return;
    this.#p.outbound.toAddress(member.card, this.#messageTo(member));
  }

  #messageTo({ greeting }: Member): Complete {
    const { settings, directives } = this.#p;
    return {
      type: 'COMPLETE',
      ...(greeting !== undefined && { greeting }),
      ...(settings.quorum === 'majority' && {
        members: this.#membersAtEnd,
        orders: directives.hash(),
      }),
    };
  }

  /**
   * A joined agent that knows all others only notes COMPLETE. One that joins cannot check it, and
   * ends, unless the others may lack some of its work.
   */
  onComplete(from: AgentId, { covers, members, orders }: Complete): void {
    if (members) this.#p.completion.learn(members, orders === this.#p.directives.hash());
    if (this.#p.view.joined) {
      this.#saidComplete.set(from, this.#p.view.get(from)?.lastHeartbeat?.idleSince);
      // A verdict that arrives late covers an earlier idle period, before this agent's new work.
      if (covers && this.#p.completion.isIdleSince(covers.idleSince)) {
        this.#p.overlay.tree.isComplete = true;
      }
    } else if (!members || !this.#hasOwnWork(members)) {
      this.end(0, `agent ${from} says that the crawl is complete`);
    }
  }

  /** Whether URLs wait here and more agents than have copies were away at the end. */
  #hasOwnWork(members: readonly AgentId[]): boolean {
    const { settings, store } = this.#p;
    const away = settings.configured.filter(({ id }) => !members.includes(id)).length;
    if (away <= settings.backups) return false;
    return store.outboxCount() > 0 || store.queuedFrom(0, 1).length > 0;
  }

  // ---- leave and stop

  #tryLeave(since: number, now: Instant): void {
    const { view, handOff, moves, routing, visits, outbound, events, settings } = this.#p;
    const isLate = now.mono - since >= LEAVE_MS_MAX;
    // After a rebirth, this agent must join again before it can hand anything over.
    if (this.#joinedOnce && !view.joined && !isLate) return;
    const hasSuccessors = view.hasOwners;
    const given = handOff.hasGivenAll() && moves.isQuiet && routing.isQuiet;
    if (hasSuccessors && !isLate && (!given || visits.openCount() > 0)) return;
    if (!this.#hasTold(now)) return;
    for (const member of view.members()) outbound.toMember(member, { type: 'LEAVE' });
    const tookMs = Math.round(now.mono - since);
    events.record(now.mono, 'leave', { agent: settings.id, inTime: given, tookMs });
    const kept = 'left; hosts that were not handed over stay in its state file';
    this.end(0, given ? 'left the cluster' : kept, { left: true });
  }

  #tryStop(since: number, now: Instant): void {
    const { visits, aborts } = this.#p;
    const reason = 'stopped; start the agents again to continue';
    if (visits.openCount() === 0) {
      if (this.#hasTold(now)) this.end(11, reason);
      return;
    }
    if (now.mono - since < STOP_GRACE_MS) return;
    aborts.abort(visits.open(), 'the crawl is being stopped', now);
  }

  /**
   * Otherwise other networks wait for this one, and then fetch what it has finished, and this one
   * waits for its own centre when it is started again.
   */
  #hasTold({ mono }: Instant): boolean {
    const { networks } = this.#p;
    this.#tellingSince ??= mono;
    return networks === undefined || networks.tellAll() || mono - this.#tellingSince >= TELL_MS_MAX;
  }

  end(code: EndCode, reason: string, how: Pick<End, 'left'> = {}): void {
    if (this.#state.kind === 'ended') return;
    this.#state = { kind: 'ended' };
    this.#p.effects.push({
      type: 'end',
      code,
      reason,
      members: this.#p.completion.members,
      ...how,
    });
  }

  endAsImpostor(inc: number): void {
    const { id } = this.#p.settings;
    const twin = `another process runs as agent ${id} (incarnation ${inc})`;
    this.end(5, `${twin}: stop one of the two`);
  }
}
