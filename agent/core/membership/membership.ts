// Who is alive (PROTOCOL rules 1 to 5). News of an incarnation, direct
// or relayed, keeps it in view; silence, a later incarnation or its own LEAVE takes it out, and
// suspicion is final: an incarnation once gone is never echoed or believed again. This file judges
// and talks; what a change of the view means for hosts is the core's business, through `Changes`.

import type { Assignment } from '../../../assignment/assignment.ts';
import type { FailureDetector } from '../../../failure-detector/detector.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { Lease } from '../../../failure-detector/lease.ts';
import type { TombstoneStore } from '../protocol/core-store.ts';
import type { AgentId, Envelope, Incarnation, Message, News } from '../protocol/messages.ts';
import type { Orders } from '../protocol/orders.ts';
import { IDENTIFIERS_MAX, putLatest } from '../protocol/put-latest.ts';
import { type CoreSettings, unheardMs } from '../protocol/settings.ts';
import { AddressProofs, type Claim, type Word } from './address-proofs.ts';
import { Greetings, refusalText } from './greetings.ts';
import type { Outbound } from './outbound.ts';
import { type Consequences, OwnLife } from './own-life.ts';
import type { RefusedClaims } from './refused-claims.ts';
import { Tombstones } from './tombstones.ts';
import type { Member, View } from './view.ts';

type Heartbeat = Extract<Message, { type: 'HEARTBEAT' }>;
type Hello = Extract<Message, { type: 'HELLO' }>;
type Probe = Extract<Message, { type: 'PROBE' }>;
type Welcome = Extract<Message, { type: 'WELCOME' }>;

/** Why a member was removed: by its LEAVE, for its silence, or for a later incarnation. */
export type Removal = 'leave' | 'suspect' | 'remove';

/** What the core does when the view changes. */
export interface Changes extends Consequences {
  added(member: Member, now: Instant): void;
  /** @param placement - the ring on which the member still had its place */
  removed(member: Member, why: Removal, placement: Assignment, now: Instant): void;
  /** A member said HELLO with the counter that its database had. */
  greeted(member: Member, counter: number, now: Instant): void;
  refused(message: string): void;
}

export class Membership {
  readonly #settings: CoreSettings;
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #detector: FailureDetector;
  readonly #lease: Lease;
  readonly #changes: Changes;
  readonly #orders: Pick<Orders, 'all' | 'hash'>;
  readonly #refused: RefusedClaims;
  readonly #ownLife: OwnLife;
  readonly #proofs: AddressProofs;
  readonly #tombstones: Tombstones;
  /** Ids of the config that a member removed so long ago that none of them can hold a lease any more. */
  readonly #longRemoved = new Set<AgentId>();
  /**
   * Incarnations that this agent suspects, by its own finding (majority only; final). They stay
   * when the member is removed, until a later incarnation comes: others may still need the vote.
   */
  readonly #suspects = new Map<AgentId, Incarnation>();
  /** Incarnations removed for their silence: word from one of them shows that it was a mistake. */
  readonly #judged = new Map<AgentId, Incarnation>();
  readonly greetings: Greetings;
  /** Agents that this process must meet before it joins for the first time. */
  readonly #awaited: Set<AgentId>;
  #startAt = 0;
  #counter = 0;
  /** Where in the view the news of the last heartbeat ended. */
  #toldTo = 0;
  /** The counter of the database as this incarnation found it, by which a roll-back shows. */
  helloCounter = 0;

  constructor(parts: {
    settings: CoreSettings;
    view: View;
    outbound: Outbound;
    detector: FailureDetector;
    lease: Lease;
    store: { readonly tombstones: TombstoneStore };
    changes: Changes;
    orders: Pick<Orders, 'all' | 'hash'>;
    refused: RefusedClaims;
  }) {
    this.#settings = parts.settings;
    this.#awaited = new Set(parts.settings.awaits);
    this.#view = parts.view;
    this.#outbound = parts.outbound;
    this.#detector = parts.detector;
    this.#lease = parts.lease;
    this.#changes = parts.changes;
    this.#orders = parts.orders;
    this.#refused = parts.refused;
    this.#ownLife = new OwnLife(parts);
    this.greetings = new Greetings(parts.settings, parts.outbound, parts.view);
    this.#proofs = new AddressProofs(parts);
    this.#tombstones = new Tombstones(parts.store.tombstones, (id) => this.greetings.isKnown(id));
  }

  /** A new incarnation: an empty view, everybody owed a greeting. What is gone stays gone. */
  reset(now: Instant): void {
    for (const m of this.#view.members()) this.#detector.forget(m.card.id);
    this.#view.clear();
    this.#suspects.clear();
    this.#longRemoved.clear();
    this.#lease.reset();
    this.#view.joined = false;
    this.#counter = 0;
    this.#startAt = now.mono;
    this.#proofs.reset(now);
    this.greet();
  }

  /** In a new process: what its former lives knew to be gone. */
  recall(now: Instant): void {
    this.#tombstones.recall(now.mono);
  }

  /** HELLO to all who are known and not in view; repeated with the heartbeats until answered. */
  greet(): void {
    for (const [id, address] of this.greetings.addresses()) {
      const peer = { id, address };
      if (this.#view.has(id)) continue;
      this.#outbound.toAddress(peer, this.greetings.helloTo(peer, this.helloCounter));
    }
  }

  hasTombstone(id: AgentId, inc: Incarnation): boolean {
    return this.#tombstones.has(id, inc);
  }

  onHello(envelope: Envelope, hello: Hello, now: Instant): void {
    const { id, inc } = envelope.from;
    const { capacity, address, proof } = hello;
    const peer = { id, inc, address, capacity };
    const difference = this.#settings.compare(this.#settings.fingerprint, hello.fingerprint);
    if (id === this.#settings.id) {
      if (!difference && inc > this.#outbound.inc)
        return this.#ownLife.isLater(inc, this.#view.joined, now);
      return this.#refused.refuse(id, 'hello', 'this agent itself has that identifier', now);
    }
    if (difference) return this.#refuse(peer, hello, difference.path, difference.b, difference.a);
    if (this.#proofs.takeDenial(this.#view.get(id), inc, proof)) return;
    const verdict = this.#proofs.judge(peer, { by: id, proof }, this.#isNew(peer), now);
    if (verdict.code !== 'granted') {
      const { code, why } = verdict;
      if (why !== undefined) this.#refused.refuse(id, 'hello', why, now);
      return code === 'refused' ? this.#refuse(peer, hello, why) : undefined;
    }
    const collision = this.#collisionWith({ id, capacity });
    if (collision) {
      const path = `ring point shared by ${collision.a} and ${collision.b}: rename one`;
      return this.#refuse(peer, hello, path);
    }
    this.#hear({ ...peer, counter: 0, joined: false, direct: true }, now, { by: id, proof });
    const member = this.#view.get(id);
    if (member?.card.inc === inc && !member.greeted) {
      member.greeted = true;
      this.#changes.greeted(member, hello.n, now);
    }
    const { greeting } = hello;
    if (greeting === undefined) return;
    if (member?.card.inc === inc) member.greeting = greeting;
    // While some incarnation of it is in view here, nobody may count it as long gone.
    const gone = [...this.#tombstones.entries()].map((g) => ({
      id: g.id,
      inc: g.inc,
      ageMs: this.#view.has(g.id) ? 0 : Math.max(0, now.mono - g.since),
    }));
    const members = [this.#newsOfMyself(), ...this.#news(now)];
    const orders = this.#orders.all();
    this.#outbound.toAddress(peer, { type: 'WELCOME', greeting, members, gone, orders });
  }

  #refuse(peer: Claim, { greeting }: Hello, path: string, yours = peer.id, theirs = ''): void {
    const answer = { type: 'REFUSED', path, yours, theirs, joined: this.#view.joined } as const;
    this.#outbound.toAddress(peer, greeting === undefined ? answer : { ...answer, greeting });
  }

  /** Neither in view nor known to be gone. */
  #isNew({ id, inc }: { id: AgentId; inc: Incarnation }): boolean {
    const member = this.#view.get(id);
    return (
      !this.#tombstones.has(id, inc) &&
      (!member || inc > Math.max(member.card.inc, member.tombstoneInc))
    );
  }

  /** Where this agent is said to listen somebody asks whether it does. */
  onProbe(envelope: Envelope, { nonce, address }: Probe): void {
    const { from, to } = envelope;
    if (to.inc !== this.#outbound.inc) return;
    const hello = this.greetings.helloTo({ id: from.id, address }, this.helloCounter);
    const answer: Hello = { ...hello, proof: nonce };
    const member = this.#view.get(from.id);
    if (member?.card.inc === from.inc) this.#outbound.toMember(member, answer);
    else this.#outbound.toAddress({ ...from, address }, answer);
  }

  #collisionWith(joiner: { id: AgentId; capacity: number }): { a: string; b: string } | null {
    if (this.#view.has(joiner.id) || joiner.id === this.#settings.id) return null;
    const members = [...this.#view.members()].map((m) => m.card);
    const { id, capacity } = this.#settings;
    return this.#settings.collision([{ id, capacity }, ...members, joiner]);
  }

  onWelcome(from: AgentId, welcome: Welcome, now: Instant): void {
    if (this.#ownLife.isOver(welcome.gone, welcome.members, now)) return;
    for (const { id, inc, ageMs } of welcome.gone) {
      this.#hearGone(id, inc, now);
      const isLong = ageMs >= this.#settings.suspectAfterMs;
      if (isLong && !this.#view.joined && this.greetings.isInConfig(id)) this.#longRemoved.add(id);
    }
    const members = welcome.members.map((news) => ({ ...news, direct: false }));
    const address = this.greetings.addressOf(from) ?? '';
    if (this.#view.joined || !this.#outbound.isConfigured({ id: from, address })) {
      return this.#hearAll(members, now, () => ({}));
    }
    // It owns nothing yet that could move, and must know all owners before it does.
    const heard = new Set(welcome.members.flatMap(({ id, direct }) => (direct ? [id] : [])));
    for (const one of members) this.#hear(one, now, { asked: true, vouched: heard.has(one.id) });
  }

  onRefused(from: AgentId, refused: Extract<Message, { type: 'REFUSED' }>): void {
    if (this.#view.joined || !(refused.joined || from < this.#settings.id)) return;
    this.#changes.refused(refusalText(from, refused));
  }

  /**
   * Agents of the config and former members are heard about this agent itself, even when they are gone:
   * an agent that removed this one tells it so. About all else only members are heard.
   * `relayed`: it came by a third agent and says nothing of the direct path.
   */
  onHeartbeat(envelope: Envelope, beat: Heartbeat, now: Instant, relayed = false): void {
    const { id, inc } = envelope.from;
    const against = [...beat.gone, ...beat.suspects];
    if (this.greetings.isKnown(id) && this.#ownLife.isOver(against, beat.news, now)) return;
    if (this.#tombstones.has(id, inc)) {
      if (this.#judged.get(id) === inc) this.#detector.mistake(id, now.mono);
      this.#judged.delete(id);
      return;
    }
    const { counter, joined, capacity, address } = beat;
    const news = { id, inc, capacity, address, counter, joined, direct: !relayed };
    this.#hear(news, now, { by: id });
    const member = this.#view.get(id);
    if (member?.card.inc !== inc) return this.#ownLife.hearStranger(id, beat, now);
    member.heardAt = now.mono;
    member.silent = false;
    if (!relayed) member.directAt = now.mono;
    for (const gone of beat.gone) this.#hearGone(gone.id, gone.inc, now);
    this.#takeWord(member, beat, now);
    const isOfConfig = this.#outbound.isConfigured(member.card);
    this.#hearAll(beat.news, now, ({ direct }) => ({ by: id, vouched: isOfConfig && direct }));
  }

  /**
   * Of those whom the config lacks one frame brings one into view at the most: each moves hosts, and
   * a sender may invent a thousand. The others come with the next heartbeat.
   */
  #hearAll(all: readonly News[], now: Instant, wordFor: (news: News) => Word): void {
    let isFull = false;
    for (const news of all) {
      const isInvented = !this.#outbound.isConfigured(news) && !this.#view.has(news.id);
      if (isFull && isInvented) continue;
      this.#hear(news, now, wordFor(news));
      isFull ||= isInvented && this.#view.has(news.id);
    }
  }

  #takeWord(member: Member, beat: Heartbeat, now: Instant): void {
    if (member.lastHeartbeat && beat.counter <= member.lastHeartbeat.counter) return;
    // What a member has heard it has heard: news that it does not repeat holds, of its incarnation.
    const news = beat.more ? new Map(member.lastHeartbeat?.news) : new Map<AgentId, News>();
    for (const one of beat.news) news.set(one.id, one);
    member.suspects = new Map(beat.suspects.map((s) => [s.id, s.inc]));
    const { counter, idle, idleSince, viewHash } = beat;
    member.lastHeartbeat = { counter, idle, idleSince, viewHash, news };
    const echo = beat.news.find((n) => n.id === this.#settings.id);
    if (!echo || echo.inc !== this.#outbound.inc) return;
    member.hearsMe = echo.direct;
    if (echo.counter <= member.echoCounter) return;
    member.echoCounter = echo.counter;
    const sentAt = this.#lease.echoed(member.card.id, echo.counter);
    if (!sentAt) return;
    // An echo is at most two heartbeats old where all is well, over a third agent too; one that
    // answers later than that, however steadily, is on its way to be deaf.
    const promptMs = 2 * this.#settings.heartbeatMs;
    const echoedAt = Math.min(now.mono, sentAt.mono + promptMs);
    member.echoedAt = Math.max(member.echoedAt, echoedAt);
  }

  /** News of an incarnation, direct or relayed (rule 1). */
  #hear(news: News, now: Instant, word: Word = {}): void {
    const { id, inc } = news;
    if (id === this.#settings.id) return this.#ownLife.isLater(inc, this.#view.joined, now);
    if (this.#tombstones.has(id, inc)) return;
    if (this.#isNew(news)) {
      const verdict = this.#proofs.judge(news, word, true, now);
      if (verdict.code === 'granted') return this.#add(news, now);
      if (verdict.code !== 'refused' || word.by === undefined) return;
      return this.#refused.refuse(word.by, 'news', verdict.why, now);
    }
    const member = this.#view.get(id);
    if (!member || inc !== member.card.inc) return;
    if (news.joined) member.joined = true;
    if (!member.unechoed) this.#detector.news(id, news.counter, now.mono);
  }

  #add(news: News, now: Instant): void {
    const old = this.#view.get(news.id);
    if (old) this.remove(old, 'remove', now);
    this.#tombstones.note(news.id, news.inc - 1, now.mono);
    this.greetings.remember(news.id, news.address);
    this.#proofs.settled(news.id);
    const member = this.#view.add(news, now.mono);
    this.#detector.watch(news.id, news.counter, now.mono);
    this.#suspects.delete(news.id);
    this.#changes.added(member, now);
  }

  remove(member: Member, why: Removal, now: Instant): void {
    const { id, inc } = member.card;
    const placement = this.#view.assignment();
    // The events name the silence as the detector counted it.
    member.heardAt = this.#detector.lastNewsMs(id) ?? member.heardAt;
    this.#view.delete(id);
    this.#detector.forget(id);
    this.#lease.forget(id);
    if (why === 'suspect') putLatest(this.#judged, id, inc, IDENTIFIERS_MAX);
    if (why === 'leave') this.greetings.forget(id);
    this.#tombstones.note(id, Math.max(inc, member.tombstoneInc), now.mono);
    this.#changes.removed(member, why, placement, now);
  }

  /** Hearsay: no echo from now on, but it is removed only by this agent's own silence. */
  #hearGone(id: AgentId, inc: Incarnation, now: Instant): void {
    const member = this.#view.get(id);
    if (!member || inc < member.card.inc) return this.#tombstones.note(id, inc, now.mono);
    member.unechoed = true;
    member.tombstoneInc = Math.max(member.tombstoneInc, inc);
  }

  /** Suspicions, deafness and the end of the join barrier; called at least every heartbeat. */
  pump(now: Instant): void {
    for (const member of [...this.#view.members()]) {
      // Of a cut both ways neither end is told: who is not heard may well not hear this agent.
      member.silent = now.mono - member.heardAt >= unheardMs(this.#settings);
      if (member.silent) member.hearsMe = false;
      const still = now.mono - member.echoedAt >= this.#settings.suspectAfterMs;
      if (still && !member.unechoed) member.unechoed = true;
    }
    for (const id of this.#detector.suspected(now.mono)) {
      const member = this.#view.get(id);
      if (!member) continue;
      member.unechoed = true;
      if (this.#settings.quorum === 'majority') {
        putLatest(this.#suspects, id, member.card.inc, IDENTIFIERS_MAX);
      } else this.remove(member, 'suspect', now);
    }
    for (const [id, inc] of [...this.#suspects]) {
      const member = this.#view.get(id);
      if (member?.card.inc === inc && this.#votesAgainst(id, inc))
        this.remove(member, 'suspect', now);
    }
  }

  /**
   * This agent stood still itself: news and echoes may wait unread, so what it has not seen of the
   * others meanwhile is not held against them. To put a judgement off harms nothing but speed.
   */
  excuse(now: Instant): void {
    const graceMs = this.#settings.suspectAfterMs * 0.3;
    this.#detector.excuse(now.mono, graceMs);
    for (const member of this.#view.members()) {
      member.echoedAt = Math.max(member.echoedAt, now.mono - graceMs);
    }
  }

  /** More than half of the configured members, this one included, suspect the incarnation. */
  #votesAgainst(id: AgentId, inc: Incarnation): boolean {
    let votes = 0;
    for (const peer of this.#settings.configured) {
      if (peer.id === this.#settings.id) votes++;
      else if ((this.#view.get(peer.id)?.suspects.get(id) ?? 0) >= inc) votes++;
    }
    return votes * 2 > this.#settings.configured.length;
  }

  /** Agents that have to be met yet, however long they are silent. */
  get awaited(): readonly AgentId[] {
    return [...this.#awaited].filter((id) => !this.#view.has(id));
  }

  /** Whether every configured agent has been met, or is known to hold no lease any more. */
  allMet(now: Instant): boolean {
    for (const id of this.#awaited) if (this.#view.has(id)) this.#awaited.delete(id);
    if (this.#awaited.size > 0) return false;
    // Hosts of a member that is not in view yet would seem to be this agent's.
    if (this.#proofs.isAsking(now)) return false;
    if (now.mono - this.#startAt >= this.#settings.suspectAfterMs) return true;
    return this.#settings.configured.every(
      ({ id }) => id === this.#settings.id || this.#view.has(id) || this.#longRemoved.has(id),
    );
  }

  /** One heartbeat to everyone known, gone or not: even the gone must learn that they are. */
  beat(word: Pick<Heartbeat, 'idle' | 'idleSince' | 'viewHash' | 'gen'>, now: Instant): void {
    const { capacity, address, fingerprintHash } = this.#settings;
    const gone = [...this.#tombstones.entries()].map(({ id, inc }) => ({ id, inc }));
    for (const m of this.#view.members()) {
      if (m.unechoed) gone.push({ id: m.card.id, inc: Math.max(m.card.inc, m.tombstoneInc) });
    }
    const all = this.#news(now);
    const told = this.#inTurn(all);
    const beat: Heartbeat = {
      type: 'HEARTBEAT',
      counter: this.#counter,
      joined: this.#view.joined,
      capacity,
      address,
      fingerprintHash,
      news: told,
      ...(told.length < all.length && { more: true }),
      gone,
      suspects: this.#votes(now),
      orders: this.#orders.hash(),
      ...word,
    };
    this.#lease.sent(this.#counter, now);
    const untold = new Map(beat.more ? all.map((news) => [news.id, news]) : []);
    for (const { id } of told) untold.delete(id);
    for (const [id, known] of this.greetings.addresses()) {
      const member = this.#view.get(id);
      // The echo, by which leases are held and cuts are found, goes to each member each time.
      const echo = untold.get(id);
      const word = echo ? { ...beat, news: [echo, ...told] } : beat;
      if (member) this.#outbound.toMember(member, word);
      else this.#outbound.toAddress({ id, address: known }, word);
    }
  }

  /** As much as one heartbeat tells: the next after those of whom the last one did. */
  #inTurn(all: readonly News[]): readonly News[] {
    const max = this.#settings.bounds.news;
    if (all.length <= max) return all;
    const from = this.#toldTo % all.length;
    this.#toldTo = from + max;
    return [...all.slice(from, from + max), ...all.slice(0, Math.max(0, from + max - all.length))];
  }

  /**
   * What this agent suspects, and whom it has called gone for `suspectAfterMs`: it has not echoed
   * them since, so that is as good a vote, and one that a reborn agent still has.
   */
  #votes(now: Instant): { id: AgentId; inc: Incarnation }[] {
    if (this.#settings.quorum !== 'majority') return [];
    const votes = new Map(this.#suspects);
    for (const { id, inc, since } of this.#tombstones.entries()) {
      if (this.#view.has(id) || now.mono - since < this.#settings.suspectAfterMs) continue;
      votes.set(id, Math.max(inc, votes.get(id) ?? 0));
    }
    return [...votes].map(([id, inc]) => ({ id, inc }));
  }

  nextCounter(): number {
    return ++this.#counter;
  }

  #newsOfMyself(): News {
    const { id, capacity, address } = this.#settings;
    const { inc } = this.#outbound;
    const counter = this.#counter;
    return { id, inc, capacity, address, counter, joined: this.#view.joined, direct: true };
  }

  #news(now: Instant): News[] {
    const news: News[] = [];
    for (const m of this.#view.members()) {
      if (m.unechoed) continue;
      const counter = this.#detector.counter(m.card.id) ?? 0;
      const direct = now.mono - m.directAt < unheardMs(this.#settings);
      news.push({ ...m.card, counter, joined: m.joined, direct });
    }
    return news;
  }
}
