// The overlay of agents that know only their neighbours (docs/OVERLAY.md). It connects the
// neighbourhood, which decides for hosts, and the routing table, which finds other agents, to the
// questions and messages of the core. It does no I/O: a turn returns what is to be sent.

import type { Assignment, RingMember } from '../../assignment/assignment.ts';
import { type Key, keyOf, type Sha1 } from '../../assignment/identifiers.ts';
import type { Instant } from '../../failure-detector/instant.ts';
import type {
  About,
  ContactMessage,
  Entries,
  Overlay,
  OverlayWork,
  RegionMessage,
  Sender,
  Watched,
} from '../core/membership/overlay.ts';
import type { Peer } from '../core/protocol/effects.ts';
import type { AgentId, Host, MemberCard, Message } from '../core/protocol/messages.ts';
import { KnownLists } from './neighbourhood/known-lists.ts';
import { type Known, neighbourOf } from './neighbourhood/known-member.ts';
import { NamedAgents } from './neighbourhood/named-agents.ts';
import { Neighbourhood } from './neighbourhood/neighbourhood.ts';
import { Claims } from './routing/claims.ts';
import {
  type Contact,
  cardOf,
  contactOf,
  distanceTo,
  hexOf,
  type IdentifiersOf,
  isDrained,
  keyOfName,
  namesFor,
  nearestOf,
  type Prefix,
  prefixOf,
} from './routing/contact.ts';
import { FirstContacts, type FirstContactsOptions } from './routing/first-contacts.ts';
import { Locator } from './routing/locator.ts';
import { RoutingTable } from './routing/routing-table.ts';
import { LeaderTree } from './tree/leader-tree.ts';

type RegionTold = Extract<RegionMessage, { type: 'REGION_TOLD' }>;
type RegionPlace = Pick<RegionTold, 'key' | 'length'>;

export interface KademliaSettings extends FirstContactsOptions {
  readonly self: Contact;
  readonly sha1: Sha1;
  readonly identifiersOf: IdentifiersOf;
  readonly fingerprintHash: string;
  readonly bucketSize: number;
  readonly concurrency: number;
  /** Joined members of a region at least: m in docs/OVERLAY.md. */
  readonly neighbourhood: number;
  readonly backups: number;
  /** There is a page limit. */
  readonly countsPages: boolean;
  /** Returns numbers in [0, 1). */
  readonly random: () => number;
}

/** A contact that has not been heard for so long is pinged before another takes its place. */
const PING_AFTER_HEARTBEATS = 30;
/** An hour: keeps 99.9 % of the look-ups right if a tenth of the agents are replaced a minute. */
const REFRESH_MS = 3_600_000;
/** Contacts of a region that are greeted at a time. */
const GREETED_MAX = 64;

export class KademliaOverlay implements Overlay {
  readonly isPartial = true;
  readonly #s: KademliaSettings;
  #self: Contact;
  #mine: readonly Key[];
  readonly #table: RoutingTable;
  readonly #locator: Locator;
  readonly tree: LeaderTree;
  readonly #first: FirstContacts;
  readonly #claims: Claims;
  #hood: Neighbourhood;
  readonly #known = new Map<AgentId, Known>();
  readonly #named: NamedAgents;
  #asked = new Map<string, number>();
  #seenChanges = 0;
  #verifiedAt = 0;
  #isLeaving = false;

  constructor(settings: KademliaSettings) {
    this.#s = settings;
    this.#self = settings.self;
    this.#mine = settings.identifiersOf(settings.self);
    this.#table = new RoutingTable({
      self: settings.self,
      identifiersOf: settings.identifiersOf,
      bucketSize: settings.bucketSize,
      pingTimeoutMs: settings.suspectAfterMs,
      pingAfterMs: PING_AFTER_HEARTBEATS * settings.heartbeatMs,
      refreshMs: REFRESH_MS,
    });
    const { self, sha1, identifiersOf, bucketSize, concurrency, suspectAfterMs } = settings;
    this.#locator = new Locator({
      ...{ self, sha1, identifiersOf, bucketSize, concurrency },
      timeoutMs: suspectAfterMs / 2,
      nearest: (key) => this.#nearestTo(key),
      reached: (id, via) => this.#claims.reached(id, via),
      nearer: (...search) => this.#nearer(...search),
    });
    this.tree = new LeaderTree({
      paths: () => this.#hood.ledPaths(),
      identifiersOf,
      digest: (text) => keyOf(text, sha1) >> 96n,
      nearest: (key) => this.#leaderAt(key),
      notThere: (key) => this.#locator.forgetNearest(key),
      countsPages: settings.countsPages,
      suspectAfterMs,
    });
    this.#claims = new Claims({
      ids: identifiersOf({ id: self.id, capacity: 1 }).length,
      everyMs: settings.heartbeatMs,
      keepMs: suspectAfterMs,
      dropped: (id) => this.#forget(id),
    });
    this.#first = new FirstContacts(settings);
    this.#named = new NamedAgents({
      ...{ identifiersOf, everyMs: settings.heartbeatMs, waitMs: suspectAfterMs },
      hood: () => this.#hood,
      hasRoomFor: (identifiers) => this.#table.hasRoomFor(identifiers),
      isKnown: (id) => this.#table.has(id),
    });
    this.#hood = this.#newHood();
  }

  #newHood(): Neighbourhood {
    const { neighbourhood, backups } = this.#s;
    const drained = isDrained(this.#self);
    return new Neighbourhood(
      { id: this.#self.id, identifiers: this.#mine, drained },
      { size: neighbourhood, decides: backups + 2 },
      { hasIn: (region) => this.#hasContactIn(region) },
    );
  }

  #hasContactIn(region: Prefix): boolean {
    if (!this.#table.isEmpty(region)) return true;
    return this.#named.hasIn(region);
  }

  // ---- members

  reset(capacity: number): void {
    if (capacity !== this.#self.capacity) this.#becomes({ ...this.#self, capacity });
    this.#hood = this.#newHood();
    this.#known.clear();
    this.#named.reset();
    this.#asked.clear();
    this.#claims.reset();
    this.#locator.reset();
    this.tree.reset();
  }

  #becomes(self: Contact): void {
    this.#self = self;
    this.#mine = this.#s.identifiersOf(self);
    this.#table.becomes(self);
  }

  joined(): void {
    this.#hood.join();
    this.#findSelf();
  }

  leaves(): void {
    this.#isLeaving = true;
  }

  /** Fills the buckets near this agent, and those of the agents near it. */
  #findSelf(): void {
    for (const key of this.#mine) this.#locator.refresh(key);
  }

  added(member: Watched, now: Instant): void {
    const { card, joined } = member;
    const identifiers = this.#s.identifiersOf(card);
    const flags = { needsMe: true, isTold: false };
    const known: Known = { member, card, identifiers, regions: [], complete: [], ...flags };
    this.#known.set(card.id, known);
    this.#named.added(card.id);
    this.#table.seen(contactOf(card), now.mono);
    this.#hood.put(neighbourOf(card.id, joined, known));
    // Through the first contact; once more after the join, when all that began together are known.
    if (!this.#hood.joined && this.#known.size === 1) this.#findSelf();
  }

  removed({ card }: Watched, isGone: boolean): void {
    this.#known.delete(card.id);
    this.#hood.remove(card.id);
    if (isGone) this.#table.failed(card);
    else this.#claims.meet(card);
  }

  heard({ card, joined }: Watched, { regions, complete, needs }: About, now: Instant): void {
    const known = this.#known.get(card.id);
    if (!known) return;
    if (regions?.length === known.identifiers.length) {
      known.regions = regions;
      known.complete = complete?.length === regions.length ? complete : regions;
    }
    known.needsMe = needs ?? known.needsMe;
    this.#table.seen(contactOf(card), now.mono);
    this.#hood.put(neighbourOf(card.id, joined, known));
  }

  about(to: Watched): About {
    const [regions, complete] = [this.#hood.regions(), this.#hood.completeRegions()];
    const isLearning = regions.some((length, i) => length !== complete[i]);
    const needs = this.needs(to);
    const known = this.#known.get(to.card.id);
    if (known) known.isTold = !needs;
    return { regions, ...(isLearning && { complete }), needs };
  }

  concerned({ card }: Watched): ReadonlySet<AgentId> | null {
    return this.#hood.watchedBy(card.id);
  }

  needs({ card }: Watched): boolean {
    return this.#hood.needsMember(card.id);
  }

  isSpare({ card: { id } }: Watched): boolean {
    const known = this.#known.get(id);
    // A member that is not told would wait until it misses the heartbeats of this agent.
    if (!known?.isTold || known.needsMe || this.#hood.needsMember(id)) return false;
    return !(this.#hood.isNeededBy(neighbourOf(id, true, known)) || this.#hood.contradicts(id));
  }

  isWanted(card: MemberCard, { needs }: About, now: Instant): boolean {
    if (!this.meet(card, now)) return false;
    if (needs === true || this.#hood.needs(this.#s.identifiersOf(card))) return true;
    this.#see(card, now);
    return false;
  }

  get mayBeFirst(): boolean {
    return this.#first.mayBeginAlone;
  }

  postponed(id: AgentId, now: Instant): void {
    this.#named.renew(id, now.mono);
  }

  get entries(): Entries {
    return this.#first;
  }

  isReady(): boolean {
    return this.#named.greetsNobody && this.#hood.isComplete;
  }

  // ---- agents that others name

  isNamed(card: MemberCard, now: Instant): boolean {
    if (card.id === this.#self.id || this.#known.has(card.id)) return true;
    return this.#counts(card, now) && this.#named.add(contactOf(card), now.mono);
  }

  // ---- messages

  onRegion(from: Watched, message: RegionMessage, now: Instant): Message | null {
    if (message.type === 'REGION_ASK') return this.#tellRegion(from, message, now);
    this.#hearRegion(from, message, now);
    return null;
  }

  #tellRegion(from: Watched, { key, length }: RegionPlace, now: Instant): RegionTold {
    const region = prefixOf(BigInt(`0x${key}`), length);
    const others = this.known().filter(({ id }) => id !== from.card.id);
    const agents = namesFor(region, others, this.#s.identifiersOf);
    this.#table.named(agents, now.mono);
    const levels = this.#hood.answerFor(region).empty.map((isEmpty) => (isEmpty ? '1' : '0'));
    return { type: 'REGION_TOLD', key, length, agents, empty: levels.join('') };
  }

  #hearRegion(from: Watched, { key, length, agents, empty }: RegionTold, now: Instant): void {
    for (const card of agents) this.isNamed(card, now);
    // Agents may be left out. The question is asked again.
    if (this.#named.isFull || !agents.every((card) => this.#counts(card, now))) return;
    const region = prefixOf(BigInt(`0x${key}`), length);
    const isEmpty = Array.from({ length }, (_, level) => empty[level] === '1');
    this.#hood.answered(from.card.id, region, { empty: isEmpty });
  }

  /** The members and contacts. */
  known(): MemberCard[] {
    // A member may wait for a place in a bucket.
    const all = new Map(this.#table.contacts().map((contact) => [contact.id, cardOf(contact)]));
    for (const { card } of this.#known.values()) all.set(card.id, cardOf(card));
    return [...all.values()];
  }

  onContact({ id, inc }: Sender, message: ContactMessage, now: Instant): Message | null {
    const { capacity, address } = message;
    const card = { id, inc, capacity, address };
    const counts = this.meet(card, now);
    if (counts) {
      this.#named.answered(id);
      // Nobody looks for an agent that has not joined, and it greets those that it must know itself.
      if (message.joined) this.#see(card, now);
      if (message.joined || this.#first.isEntry(address)) this.isNamed(card, now);
    }
    switch (message.type) {
      case 'PING':
        if (message.answer && id === this.#self.id) this.#first.noteNamesake(address);
        return message.answer ? null : { type: 'PING', ...this.#aboutMe(), answer: true };
      case 'FIND_NODE': {
        const agents = this.#nearestTo(BigInt(`0x${message.key}`), id);
        this.#table.named(agents, now.mono);
        const leaving = this.#isLeaving;
        return { type: 'FOUND_NODES', key: message.key, agents, ...this.#aboutMe(), leaving };
      }
      case 'FOUND_NODES': {
        if (!counts) return null;
        const first = message.agents.slice(0, this.#s.bucketSize);
        const named = first.filter((one) => this.#counts(one, now));
        for (const one of named) {
          if (one.id !== this.#self.id && !this.#known.has(one.id)) {
            this.#named.pingLater(contactOf(one), now.mono);
          }
        }
        this.#locator.answered(card, BigInt(`0x${message.key}`), named, message.leaving);
        return null;
      }
    }
  }

  #aboutMe() {
    const { capacity, address } = this.#self;
    const { fingerprintHash } = this.#s;
    const { joined } = this.#hood;
    return { capacity, address, fingerprintHash, joined };
  }

  /** The nearest agents that are known here: members, with their incarnations, and contacts. */
  #nearestTo(key: Key, except = ''): MemberCard[] {
    const { bucketSize, identifiersOf } = this.#s;
    const closest = this.#table.closest(key, bucketSize, false).map(cardOf);
    const all = new Map(closest.map((card) => [card.id, card]));
    for (const { card } of this.#known.values()) all.set(card.id, card);
    all.delete(except);
    return nearestOf(key, [...all.values()], identifiersOf).slice(0, bucketSize);
  }

  meet(card: MemberCard, now: Instant, via?: MemberCard): boolean {
    const counts = this.#counts(card, now);
    if (counts) this.#claims.meet(card, via);
    return counts;
  }

  via(id: AgentId): MemberCard | null {
    return this.#claims.via(id);
  }

  /** Whether a claim of or about an agent counts. */
  #counts(card: MemberCard, now: Instant): boolean {
    const member = this.#known.get(card.id)?.card;
    return card.id === this.#self.id || this.#claims.count(card, member, now.mono);
  }

  #see(card: MemberCard, now: Instant): void {
    if (this.#claims.isDue(card.id, now.mono)) this.#table.seen(contactOf(card), now.mono);
  }

  #forget(id: AgentId): void {
    this.#named.answered(id);
    if (!this.#known.has(id)) this.#table.forget(id);
  }

  met(id: AgentId): MemberCard | null {
    return this.#claims.met(id);
  }

  /** The agent nearest to a key, which may be this one; null: it is being looked for. */
  #leaderAt(key: Key): MemberCard | null {
    const card = this.#locator.nearest(key);
    if (!card) return null;
    const { identifiersOf } = this.#s;
    const isMine = distanceTo(key, this.#mine) < distanceTo(key, identifiersOf(card));
    return isMine ? cardOf(this.#self) : card;
  }

  /** A look-up does not find a member that only other agents can reach for this one. */
  #nearer(key: Key, found: MemberCard | null, isOwner: boolean): MemberCard | null {
    let nearest = found;
    let distance = distanceTo(key, found ? this.#s.identifiersOf(found) : []);
    for (const { member, card, identifiers } of this.#known.values()) {
      if (isDrained(card) || (isOwner && member.leaving)) continue;
      const ofMember = distanceTo(key, identifiers);
      if (ofMember < distance) [nearest, distance] = [card, ofMember];
    }
    return nearest;
  }

  find(host: Host): MemberCard | null {
    return this.#locator.find(host);
  }

  notThere(host: Host): void {
    this.#locator.forget(host);
  }

  // ---- turns

  pump(now: Instant): OverlayWork {
    if (this.#hood.joined) this.#nameContacts(now);
    this.#verifyContacts(now);
    const named = this.#named.due(now.mono);
    for (const contact of named.expired) this.#table.failed(contact);
    const has = (at: string) => this.#known.values().some(({ card }) => card.address === at);
    const isNear = (name: string) => this.#isNear(keyOfName(name, this.#s.sha1));
    const first = this.#first.due({ size: this.#known.size, has }, isNear, now.mono);
    const pinged: Peer[] = [
      ...named.pings,
      ...this.#table.pings(now.mono),
      ...first.map((address) => ({ id: '', address })),
    ];
    const { asks, failed, located, ended } = this.#locator.pump(now.mono);
    for (const contact of failed) this.#table.failed(contact);
    for (const key of ended) this.#table.lookedUp(key, now.mono);
    if (this.#hood.joined) {
      this.#first.keep(() => this.known(), now.mono);
      for (const key of this.#table.refreshes(now.mono, this.#s.random)) this.#locator.refresh(key);
    }
    const me = this.#aboutMe();
    const ping: Message = { type: 'PING', ...me, answer: false };
    const find = (key: Key): Message => ({ type: 'FIND_NODE', key: hexOf(key), ...me });
    this.#hood.settle();
    const isMoved = this.#hood.changes !== this.#seenChanges;
    this.#seenChanges = this.#hood.changes;
    return {
      isMoved,
      greet: named.greet,
      asks: this.#questions(now),
      pings: [
        ...pinged.map((to) => ({ to, message: ping })),
        ...asks.map(({ to, key }) => ({ to, message: find(key) })),
      ],
      located,
    };
  }

  /** Whether this agent may be one of those that know the agents nearest to a key. */
  #isNear(key: Key): boolean {
    return this.#hood.places().of(key).kind !== 'elsewhere';
  }

  /** No member tells this agent when the last agent of a subtree beside its regions is gone. */
  #verifyContacts({ mono }: Instant): void {
    if (mono - this.#verifiedAt < this.#s.suspectAfterMs) return;
    this.#verifiedAt = mono;
    for (const region of this.#hood.unwatched()) this.#table.verify(region, mono);
  }

  /** The members of a region may not know all agents of a larger one, or may all be gone. */
  #nameContacts(now: Instant): void {
    for (const region of this.#hood.learning()) {
      for (const contact of this.#table.contactsIn(region, GREETED_MAX)) {
        this.isNamed(cardOf(contact), now);
      }
    }
  }

  #questions(now: Instant): OverlayWork['asks'] {
    const asked = new Map<string, number>();
    const asks: { to: AgentId; message: Message }[] = [];
    for (const { to, region } of this.#hood.questions()) {
      const key = hexOf(region.bits);
      const name = `${to} ${key}/${region.length}`;
      // Several identifiers of this agent may have the same region.
      if (asked.has(name)) continue;
      const at = this.#asked.get(name) ?? -Infinity;
      const isDue = now.mono - at >= this.#s.heartbeatMs / 2;
      asked.set(name, isDue ? now.mono : at);
      if (isDue) asks.push({ to, message: { type: 'REGION_ASK', key, length: region.length } });
    }
    this.#asked = asked;
    return asks;
  }

  // ---- hosts

  /** The preference lists over the placed agents, as far as they are known now. */
  placement(placed: readonly RingMember[]): Assignment {
    return new KnownLists(this.#hood.places(), placed, this.#s.sha1);
  }
}
