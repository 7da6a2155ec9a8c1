// Decides which agents are alive (PROTOCOL rules 1 to 5). Direct or relayed news keeps an
// incarnation in the view. It is removed after a time without news, by its LEAVE, or for a later
// incarnation, and a removed incarnation never returns. The core applies changes of the view to the
// hosts (`Changes`).

import type { Assignment } from '../../../assignment/assignment.ts';
import type { FailureDetector } from '../../../failure-detector/detector.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { Lease } from '../../../failure-detector/lease.ts';
import type { TombstoneStore } from '../protocol/core-store.ts';
import type { Directives } from '../protocol/directives.ts';
import type { Peer } from '../protocol/effects.ts';
import type { AgentId, Envelope, Incarnation, Message, News } from '../protocol/messages.ts';
import { IDENTIFIERS_MAX, putLatest } from '../protocol/put-latest.ts';
import { type CoreSettings, unheardMs } from '../protocol/settings.ts';
import { AddressProofs, type Claim, type Evidence, type Verdict } from './address-proofs.ts';
import { Greetings, refusalText } from './greetings.ts';
import { Heartbeats } from './heartbeats.ts';
import type { Outbound } from './outbound.ts';
import type { Overlay } from './overlay.ts';
import { type Consequences, OwnLife } from './own-life.ts';
import type { RefusedClaims } from './refused-claims.ts';
import { Tombstones } from './tombstones.ts';
import type { Member, View } from './view.ts';

type Heartbeat = Extract<Message, { type: 'HEARTBEAT' }>;
type Hello = Extract<Message, { type: 'HELLO' }>;
type Probe = Extract<Message, { type: 'PROBE' }>;
type Greeted = Pick<Hello, 'greeting'> & Pick<Refused, 'later'>;
type Refused = Extract<Message, { type: 'REFUSED' }>;
type Welcome = Extract<Message, { type: 'WELCOME' }>;

/** Why a member was removed: its LEAVE, a time without news, or a later incarnation. */
export type Removal = 'leave' | 'suspect' | 'remove';

/** Called when the view changes. */
export interface Changes extends Consequences {
  added(member: Member, now: Instant): void;
  /** @param placement - the ring on which the member still had its place */
  removed(member: Member, why: Removal, placement: Assignment, now: Instant): void;
  /**
   * The member is not watched any more (docs/OVERLAY.md).
   *
   * @param placement - if it may have ended: the ring on which it still had its place
   */
  parted(member: Member, placement: Assignment | null, now: Instant): void;
  /** Whether hosts are being handed over to or from the member. */
  isHandingOver(member: Member): boolean;
  /** A member sent HELLO with the counter of its database. */
  greeted(member: Member, counter: number, now: Instant): void;
  refused(message: string): void;
}

/** Bound of `lost`. */
const LOST_MAX = 64;

interface MembershipParts {
  readonly settings: CoreSettings;
  readonly view: View;
  readonly outbound: Outbound;
  readonly overlay: Overlay;
  readonly detector: FailureDetector;
  readonly lease: Lease;
  readonly store: { readonly tombstones: TombstoneStore };
  readonly changes: Changes;
  readonly directives: Pick<Directives, 'all' | 'hash'>;
  readonly refused: RefusedClaims;
}

export class Membership {
  readonly #p: MembershipParts;
  readonly #ownLife: OwnLife;
  readonly #proofs: AddressProofs;
  readonly tombstones: Tombstones;
  /** Configured agents that a member removed at least `suspectAfterMs` ago: none has a lease. */
  readonly #longRemoved = new Set<AgentId>();
  /**
   * Incarnations that this agent itself suspects (`majority` only; final). They outlast the removal
   * of the member, until a later incarnation is added, because others may still need the vote.
   */
  readonly suspects = new Map<AgentId, Incarnation>();
  /** Incarnations removed after a time without news: a heartbeat of one shows a mistake. */
  readonly #judged = new Map<AgentId, Incarnation>();
  /** Members removed after a time without news, which must learn it when they are back. */
  readonly lost = new Map<AgentId, Incarnation>();
  /** Members that are not watched any more, and may still report the end of this incarnation. */
  readonly #parted = new Map<AgentId, Incarnation>();
  readonly greetings: Greetings;
  /** Agents that this process must meet before it joins for the first time. */
  readonly #awaited: Set<AgentId>;
  #startAt = 0;
  /** When an agent last had no room for this one. */
  postponedAt = -Infinity;
  readonly heartbeats: Heartbeats;
  /** The counter of the database at the start of this incarnation, for HELLO. */
  helloCounter = 0;

  constructor(parts: MembershipParts) {
    this.#p = parts;
    this.#awaited = new Set(parts.settings.awaits);
    this.#ownLife = new OwnLife(parts);
    this.greetings = new Greetings(parts.settings, parts.outbound, parts.view);
    this.#proofs = new AddressProofs(parts);
    this.tombstones = new Tombstones(parts.store.tombstones, (id) => this.greetings.isKnown(id));
    this.heartbeats = new Heartbeats(parts, this);
  }

  /** Begins a new incarnation with an empty view, and greets all agents. Keeps the tombstones. */
  reset(now: Instant): void {
    for (const m of this.#p.view.members()) this.#p.detector.forget(m.card.id);
    this.#p.view.clear();
    this.#p.overlay.reset(this.#p.settings.capacity, now);
    this.suspects.clear();
    this.#longRemoved.clear();
    this.#p.lease.reset();
    this.#p.view.joined = false;
    this.heartbeats.reset();
    this.#startAt = now.mono;
    this.#proofs.reset(now);
    this.greet();
  }

  /** Loads the tombstones of earlier processes. */
  recall(now: Instant): void {
    this.tombstones.recall(now.mono);
  }

  /** Sends HELLO to all known agents that are not in view. */
  greet(): void {
    for (const [id, address] of this.greetings.addresses()) {
      if (!this.#p.view.has(id)) this.greetOne({ id, address });
    }
  }

  /** Sends HELLO to an agent. Another may have named it, with a false address. */
  greetOne(peer: Peer): void {
    if (!this.greetings.isKnown(peer.id)) this.greetings.remember(peer.id, peer.address);
    this.#p.outbound.toAddress(peer, this.greetings.helloTo(peer, this.helloCounter));
  }

  hasTombstone(id: AgentId, inc: Incarnation): boolean {
    return this.tombstones.has(id, inc);
  }

  onHello(envelope: Envelope, hello: Hello, now: Instant): void {
    const { id, inc } = envelope.from;
    const { capacity, address, proof } = hello;
    const peer = { id, inc, address, capacity };
    const difference = this.#p.settings.compare(this.#p.settings.fingerprint, hello.fingerprint);
    if (id === this.#p.settings.id) {
      if (!difference && inc > this.#p.outbound.inc)
        return this.#ownLife.isLater(inc, this.#p.view.joined, now);
      return this.#p.refused.refuse(id, 'hello', 'this agent itself has that identifier', now);
    }
    if (difference) return this.#refuse(peer, hello, difference.path, difference.b, difference.a);
    this.#p.overlay.meet(peer, now);
    if (this.#proofs.takeDenial(this.#p.view.get(id), inc, proof)) return;
    const verdict = this.#proofs.judge(peer, { by: id, proof }, this.#isNew(peer), now);
    if (verdict.code !== 'granted') {
      const { code, why } = verdict;
      const later = this.#isLater(verdict);
      if (why !== undefined && !later) this.#p.refused.refuse(id, 'hello', why, now);
      return code === 'asked' ? undefined : this.#refuse(peer, { ...hello, later }, why);
    }
    const collision = this.#collisionWith({ id, capacity });
    if (collision) {
      const path = `ring point shared by ${collision.a} and ${collision.b}: rename one`;
      return this.#refuse(peer, hello, path);
    }
    this.#hear({ ...peer, counter: 0, joined: false, direct: true }, now, { by: id, proof });
    const member = this.#p.view.get(id);
    if (member?.card.inc === inc && !member.greeted) {
      member.greeted = true;
      this.#p.changes.greeted(member, hello.n, now);
    }
    const { greeting } = hello;
    if (greeting === undefined) return;
    if (member?.card.inc === inc) member.greeting = greeting;
    // While an incarnation of the identifier is in view here, it does not count as removed long
    // ago.
    const gone = [...this.tombstones.entries()].map((g) => ({
      id: g.id,
      inc: g.inc,
      ageMs: this.#p.view.has(g.id) ? 0 : Math.max(0, now.mono - g.since),
    }));
    const members = this.heartbeats.newsFor(member, now);
    const directives = this.#p.directives.all();
    this.#p.outbound.toAddress(peer, {
      type: 'WELCOME',
      greeting,
      members,
      gone,
      orders: directives,
    });
  }

  /** In a partial view, members that are not needed will leave room for others. */
  #isLater({ code }: Verdict): boolean {
    return code === 'full' && this.#p.overlay.isPartial;
  }

  #refuse(peer: Claim, to: Greeted, path: string, yours = peer.id, theirs = ''): void {
    const { greeting, later } = to;
    const answer = { type: 'REFUSED', path, yours, theirs, joined: this.#p.view.joined } as const;
    const more = { ...(greeting !== undefined && { greeting }), ...(later && { later }) };
    this.#p.outbound.toAddress(peer, { ...answer, ...more });
  }

  /** Whether the incarnation would be added to the view: it is the latest and has no tombstone. */
  #isNew({ id, inc }: { id: AgentId; inc: Incarnation }): boolean {
    const member = this.#p.view.get(id);
    return (
      !this.tombstones.has(id, inc) &&
      (!member || inc > Math.max(member.card.inc, member.tombstoneInc))
    );
  }

  /** Another agent asks whether this incarnation listens at this address. */
  onProbe(envelope: Envelope, { nonce, address }: Probe): void {
    const { from, to } = envelope;
    if (to.inc !== this.#p.outbound.inc) return;
    const hello = this.greetings.helloTo({ id: from.id, address }, this.helloCounter);
    const answer: Hello = { ...hello, proof: nonce };
    const member = this.#p.view.get(from.id);
    if (member?.card.inc === from.inc) this.#p.outbound.toMember(member, answer);
    else this.#p.outbound.toAddress({ ...from, address }, answer);
  }

  #collisionWith(joiner: { id: AgentId; capacity: number }): { a: string; b: string } | null {
    if (this.#p.view.has(joiner.id) || joiner.id === this.#p.settings.id) return null;
    const members = [...this.#p.view.members()].map((m) => m.card);
    const { id, capacity } = this.#p.settings;
    return this.#p.settings.collision([{ id, capacity }, ...members, joiner]);
  }

  onWelcome(from: AgentId, welcome: Welcome, now: Instant): void {
    if (this.#ownLife.isOver(welcome.gone, welcome.members, now)) return;
    for (const { id, inc, ageMs } of welcome.gone) {
      this.#hearGone(id, inc, now);
      const isLong = ageMs >= this.#p.settings.suspectAfterMs;
      if (isLong && !this.#p.view.joined && this.greetings.isInConfig(id))
        this.#longRemoved.add(id);
    }
    const members = welcome.members.map((news) => ({ ...news, direct: false }));
    const address = this.greetings.addressOf(from) ?? '';
    if (this.#p.view.joined || !this.#p.outbound.isConfigured({ id: from, address })) {
      return this.#hearAll(members, now, () => ({}));
    }
    // This agent owns no hosts yet that could move, and must know all owners before it joins.
    const heard = new Set(welcome.members.flatMap(({ id, direct }) => (direct ? [id] : [])));
    // In a partial view, agents that need each other exchange HELLO before they add each other.
    const asked = !this.#p.overlay.isPartial;
    for (const one of members) this.#hear(one, now, { asked, vouched: heard.has(one.id) });
  }

  onRefused(from: AgentId, refused: Refused, now: Instant): void {
    if (refused.later) {
      this.postponedAt = now.mono;
      return this.#p.overlay.postponed(from, now);
    }
    if (this.#p.view.joined || !(refused.joined || from < this.#p.settings.id)) return;
    this.#p.changes.refused(refusalText(from, refused));
  }

  /**
   * Applies a heartbeat. Configured agents and earlier members may report that this agent was
   * removed, even if they have a tombstone. Only members may report anything else.
   *
   * @param relayed - a third agent forwarded it, so it proves no direct path
   */
  onHeartbeat(envelope: Envelope, beat: Heartbeat, now: Instant, relayed = false): void {
    const { id, inc } = envelope.from;
    const against = [...beat.gone, ...beat.suspects];
    const isKnown = this.greetings.isKnown(id) || this.#parted.has(id);
    if (isKnown && this.#ownLife.isOver(against, beat.news, now)) return;
    if (this.tombstones.has(id, inc)) {
      if (this.#judged.get(id) === inc) this.#p.detector.mistake(id, now.mono);
      this.#judged.delete(id);
      return;
    }
    const { counter, joined, capacity, address } = beat;
    const news = { id, inc, capacity, address, counter, joined, direct: !relayed };
    if (!this.#p.view.has(id) && !this.#p.overlay.isWanted(news, beat, now)) return;
    // In a partial view, a member that relays it shows that it reaches the sender.
    this.#hear(news, now, { by: id, vouched: relayed && this.#p.overlay.isPartial });
    const member = this.#p.view.get(id);
    if (member?.card.inc !== inc) {
      // In a partial view, it may have had this agent as a member, which never heard of it.
      if (!this.#p.overlay.isPartial) this.#ownLife.hearStranger(id, beat, now);
      return;
    }
    member.heardAt = now.mono;
    member.silent = false;
    this.#p.overlay.heard(member, beat, now);
    if (!relayed) member.directAt = now.mono;
    for (const gone of beat.gone) this.#hearGone(gone.id, gone.inc, now);
    this.#noteHeartbeat(member, beat, now);
    // A partial view has no list of all agents, so every member may vouch.
    const isTrusted = this.#p.overlay.isPartial || this.#p.outbound.isConfigured(member.card);
    this.#hearAll(beat.news, now, ({ direct }) => ({ by: id, vouched: isTrusted && direct }));
  }

  /**
   * Applies the news of one message. At most one agent outside the config is added for each
   * message: each addition moves hosts, and a sender may invent a thousand. Later heartbeats add
   * the others.
   */
  #hearAll(all: readonly News[], now: Instant, evidenceFor: (news: News) => Evidence): void {
    let isFull = false;
    for (const news of all) {
      const isStranger = !this.#p.outbound.isConfigured(news) && !this.#p.view.has(news.id);
      if (isFull && isStranger) continue;
      this.#hear(news, now, evidenceFor(news));
      isFull ||= isStranger && this.#p.view.has(news.id);
    }
  }

  #noteHeartbeat(member: Member, beat: Heartbeat, now: Instant): void {
    if (member.lastHeartbeat && beat.counter <= member.lastHeartbeat.counter) return;
    // A partial heartbeat keeps earlier news: what the member once heard stays heard.
    const news = beat.more ? new Map(member.lastHeartbeat?.news) : new Map<AgentId, News>();
    for (const one of beat.news) news.set(one.id, one);
    member.suspects = new Map(beat.suspects.map((s) => [s.id, s.inc]));
    const { counter, idle, idleSince, viewHash, pages } = beat;
    const state = { counter, idle, idleSince, viewHash, news };
    member.lastHeartbeat = pages ? { ...state, pages } : state;
    const echo = beat.news.find((n) => n.id === this.#p.settings.id);
    if (!echo || echo.inc !== this.#p.outbound.inc) return;
    member.hearsMe = echo.direct;
    if (echo.counter <= member.echoCounter) return;
    member.echoCounter = echo.counter;
    const sentAt = this.#p.lease.echoed(member.card.id, echo.counter);
    if (!sentAt) return;
    // An echo normally takes at most two heartbeat intervals, even over a relay. Later echoes do
    // not count in full, so a member that only sends late ones becomes deaf.
    const promptMs = 2 * this.#p.settings.heartbeatMs;
    const echoedAt = Math.min(now.mono, sentAt.mono + promptMs);
    member.echoedAt = Math.max(member.echoedAt, echoedAt);
  }

  /** Applies direct or relayed news of an incarnation (rule 1). */
  #hear(news: News, now: Instant, evidence: Evidence): void {
    const { id, inc } = news;
    if (id === this.#p.settings.id) return this.#ownLife.isLater(inc, this.#p.view.joined, now);
    if (this.tombstones.has(id, inc)) return;
    if (this.#isNew(news)) {
      if (evidence.by !== id && !this.#p.overlay.isNamed(news, now)) return;
      const verdict = this.#proofs.judge(news, evidence, true, now);
      if (verdict.code === 'granted') return this.#add(news, now);
      if (verdict.code === 'asked' || this.#isLater(verdict) || evidence.by === undefined) return;
      return this.#p.refused.refuse(evidence.by, 'news', verdict.why, now);
    }
    const member = this.#p.view.get(id);
    if (!member || inc !== member.card.inc) return;
    if (news.joined && !member.joined) {
      member.joined = true;
      this.#p.overlay.heard(member, {}, now);
    }
    if (!member.unechoed) this.#p.detector.news(id, news.counter, now.mono);
  }

  #add(news: News, now: Instant): void {
    const old = this.#p.view.get(news.id);
    if (old) this.remove(old, 'remove', now);
    this.tombstones.note(news.id, news.inc - 1, now.mono);
    this.greetings.remember(news.id, news.address);
    this.#proofs.settled(news.id);
    const member = this.#p.view.add(news, now.mono);
    this.#p.overlay.added(member, now);
    this.#p.detector.watch(news.id, news.counter, now.mono);
    this.suspects.delete(news.id);
    this.lost.delete(news.id);
    this.#p.changes.added(member, now);
  }

  remove(member: Member, why: Removal, now: Instant): void {
    const { id, inc } = member.card;
    const placement = this.#p.view.assignment();
    // Events report the time without news as the detector measured it.
    member.heardAt = this.#p.detector.lastNewsMs(id) ?? member.heardAt;
    this.#drop(member, true);
    if (why === 'suspect') {
      putLatest(this.#judged, id, inc, IDENTIFIERS_MAX);
      putLatest(this.lost, id, inc, LOST_MAX);
    }
    if (why === 'leave') this.greetings.forget(id);
    this.tombstones.note(id, Math.max(inc, member.tombstoneInc), now.mono);
    this.#p.changes.removed(member, why, placement, now);
  }

  #drop(member: Member, isGone: boolean): void {
    const { id } = member.card;
    this.#p.view.delete(id);
    this.#p.overlay.removed(member, isGone);
    this.#p.detector.forget(id);
    this.#p.lease.forget(id);
  }

  /** Stops to watch a member. If it is silent, it has done so, too, or has ended. */
  part(member: Member, now: Instant, isSilent = false): void {
    const placement = isSilent ? this.#p.view.assignment() : null;
    this.#drop(member, false);
    putLatest(this.#parted, member.card.id, member.card.inc, IDENTIFIERS_MAX);
    this.greetings.forget(member.card.id);
    this.#p.changes.parted(member, placement, now);
  }

  /** Another agent removed the incarnation: a member is no longer echoed, but stays in view. */
  #hearGone(id: AgentId, inc: Incarnation, now: Instant): void {
    const member = this.#p.view.get(id);
    if (!member || inc < member.card.inc) return this.tombstones.note(id, inc, now.mono);
    member.unechoed = true;
    member.tombstoneInc = Math.max(member.tombstoneInc, inc);
  }

  /** Suspects and removes members. Called at least once in each heartbeat interval. */
  pump(now: Instant): void {
    for (const member of this.#p.view.members()) {
      // If no heartbeat arrives, those of this agent may not arrive there either.
      member.silent = now.mono - member.heardAt >= unheardMs(this.#p.settings);
      if (member.silent) member.hearsMe = false;
      const isDeaf = now.mono - member.echoedAt >= this.#p.settings.suspectAfterMs;
      // A member that this agent need not know may have stopped to watch it.
      if (isDeaf && this.#p.overlay.needs(member)) member.unechoed = true;
    }
    for (const id of this.#p.detector.suspected(now.mono)) {
      const member = this.#p.view.get(id);
      if (!member) continue;
      // It may have stopped to watch this agent, which need not know whether it is running.
      if (!this.#p.overlay.needs(member)) {
        this.part(member, now, true);
        continue;
      }
      member.unechoed = true;
      if (this.#p.settings.quorum === 'majority') {
        putLatest(this.suspects, id, member.card.inc, IDENTIFIERS_MAX);
      } else this.remove(member, 'suspect', now);
    }
    for (const [id, inc] of [...this.suspects]) {
      const member = this.#p.view.get(id);
      if (member?.card.inc === inc && this.#votesAgainst(id, inc))
        this.remove(member, 'suspect', now);
    }
  }

  /**
   * Delays suspicions after a stall of this agent's event loop: news and echoes may still be
   * unread. Only speed suffers from the delay.
   */
  excuse(now: Instant): void {
    const graceMs = this.#p.settings.suspectAfterMs * 0.3;
    this.#p.detector.excuse(now.mono, graceMs);
    for (const member of this.#p.view.members()) {
      member.echoedAt = Math.max(member.echoedAt, now.mono - graceMs);
    }
  }

  /** Whether more than half of the configured agents, this one included, suspect it. */
  #votesAgainst(id: AgentId, inc: Incarnation): boolean {
    let votes = 0;
    for (const peer of this.#p.settings.configured) {
      if (peer.id === this.#p.settings.id) votes++;
      else if ((this.#p.view.get(peer.id)?.suspects.get(id) ?? 0) >= inc) votes++;
    }
    return votes * 2 > this.#p.settings.configured.length;
  }

  /** Agents that must be met before the join, however long that takes. */
  get awaited(): readonly AgentId[] {
    return [...this.#awaited].filter((id) => !this.#p.view.has(id));
  }

  /** Whether each configured agent is in view, or cannot hold a lease any more (rule 5). */
  allMet(now: Instant): boolean {
    for (const id of this.#awaited) if (this.#p.view.has(id)) this.#awaited.delete(id);
    if (this.#awaited.size > 0) return false;
    // This agent would take the hosts of a member that is not in view yet for its own.
    if (this.#proofs.isAsking(now)) return false;
    if (!this.#p.overlay.isReady(now)) return false;
    const isLate = now.mono - this.#startAt >= this.#p.settings.suspectAfterMs;
    if (this.#p.overlay.isPartial) {
      const hasJoined = [...this.#p.view.members()].some(({ joined }) => joined);
      return hasJoined || (isLate && this.#p.overlay.mayBeFirst);
    }
    if (isLate) return true;
    return this.#p.settings.configured.every(
      ({ id }) => id === this.#p.settings.id || this.#p.view.has(id) || this.#longRemoved.has(id),
    );
  }
}
