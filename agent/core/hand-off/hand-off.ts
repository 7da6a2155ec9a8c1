// Hand-off of hosts between agents (PROTOCOL rules 8 to 10). Who has anything of
// a host that another owns now names it to the owner in a list; the owner fetches nothing on it
// until the lister has yielded it: no request open, queue handed over, with the wait that is left.
// Lists and yields are resent until answered. A list entry ends by its yield, by withdrawal (the
// owner has changed again), or by the removal of the lister. The rows themselves are streamed by
// `replication.ts`; a copy is deleted only when its yield was acknowledged, which the owner does
// when its own backups have the host.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { Member, View } from '../membership/view.ts';
import type { AgentId, Host, Incarnation, Message, YieldItem } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import type { GivenList } from './given-list.ts';
import { GivenHosts, type ListSource } from './list-source.ts';
import { OwedLists } from './owed-lists.ts';

type List = Extract<Message, { type: 'LIST' }>;
type Yield = Extract<Message, { type: 'YIELD' }>;
export type YieldAckItem = Extract<Message, { type: 'YIELD_ACK' }>['items'][number];

/** All of its hosts are yielded or withdrawn. */
interface FinishedList {
  readonly to: AgentId;
  readonly hosts: number;
  readonly tookMs: number;
}

/** What the hand-off must know of a host before it can be yielded. */
export interface YieldableHosts {
  /** Whether a request of this agent to the host is open. */
  isOpen(host: Host): boolean;
  /** Whether all rows of the host are at `to`, and settled if it is not yet `settleUntil`. */
  isGiven(host: Host, to: AgentId, settleUntil: number): boolean;
  waitLeftMs(host: Host, now: Instant): number;
  /** The host is on a list now: its rows are to go to the addressee. */
  named(host: Host, to: AgentId): void;
  /** How long addresses may still be in use or rest, which the addressee may come to own. */
  permitsMs(now: Instant): number;
}

/** A yield that is still to be acknowledged. */
interface OwedAnswer {
  readonly from: AgentId;
  readonly inc: Incarnation;
  readonly list: number;
  readonly host: Host;
  /** The last number of the host when it was yielded. */
  readonly n: number;
}

/** Copies at the backups, as far as answering a yield depends on them. */
interface YieldCopies {
  /** Another agent owned the host: what is known of its copies may not be true any more. */
  invalidate(host: Host): void;
  isSafe(host: Host, n: number): boolean;
  targets(host: Host): readonly AgentId[];
  lastNumber(host: Host): number;
}

/** Hosts that are counted one by one for `status`. */
const COUNTED_MAX = 1000;

export class HandOff implements Part {
  readonly #settings: CoreSettings;
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #refused: RefusedClaims;
  readonly #given = new Map<number, GivenList>();
  readonly #owed = new OwedLists();
  /** Lists that name a host and have not yielded it: keys `id.inc/list`. */
  readonly #awaited = new Map<Host, Set<string>>();
  /** Entries of `#awaited` that are to be looked at; null: all have been since the last removal. */
  #swept: Iterator<[Host, Set<string>]> | null = null;
  /** Next part expected of each list of others; those of members that are gone are dropped. */
  readonly #received = new Map<string, number>();
  /** Yields taken in whose answer waits for this agent's backups: keys as above, and the host. */
  readonly #owing = new Map<string, OwedAnswer>();
  /** Look-ups that are left in this turn. */
  #looks = 0;
  #lastNumber = 0;

  constructor(settings: CoreSettings, view: View, outbound: Outbound, refused: RefusedClaims) {
    this.#settings = settings;
    this.#view = view;
    this.#outbound = outbound;
    this.#refused = refused;
  }

  reset(): void {
    this.#given.clear();
    this.#owed.clear();
    this.#awaited.clear();
    this.#swept = null;
    this.#received.clear();
    this.#owing.clear();
  }

  owedAny(): boolean {
    return !this.#owed.isEmpty;
  }

  awaits(host: Host): boolean {
    // A list of a member that is gone counts no more.
    for (const key of this.#awaited.get(host) ?? []) if (this.#received.has(key)) return true;
    return false;
  }

  /** Nothing is owed, awaited or to be given: a condition of idleness. */
  get isQuiet(): boolean {
    if (this.#given.size > 0 || !this.#owed.isEmpty || this.#owing.size > 0) return false;
    for (const host of this.#awaited.keys()) {
      if (this.#view.owns(host) && this.awaits(host)) return false;
    }
    return true;
  }

  /** Members to whom the host was listed and not yet yielded: they are to get its rows. */
  *addressees(host: Host): Iterable<AgentId> {
    for (const list of this.#given.values()) if (list.pending.has(host)) yield list.to;
  }

  hasGivenAll(): boolean {
    return this.#given.size === 0;
  }

  /** An entry binds only while this agent owns the host; very many are not looked at one by one. */
  counts(): { given: number; owed: number; awaited: number } {
    let awaited = this.#awaited.size;
    if (awaited <= COUNTED_MAX) {
      awaited = 0;
      for (const host of this.#awaited.keys()) {
        if (this.#view.owns(host) && this.awaits(host)) awaited++;
      }
    }
    return { given: this.#given.size, owed: this.#owed.size, awaited };
  }

  expectListFrom(id: AgentId): void {
    this.#owed.expect(id);
  }

  /** One more member leaves, and has lost its place in the view. */
  expectListsOfLeavers(): void {
    const leavers = this.#view.leavers().filter((id) => id !== this.#settings.id);
    this.#owed.expectOfLeavers(leavers);
  }

  /** Hosts that others have listed and not yielded yet. */
  awaitedHosts(): Host[] {
    return [...this.#awaited.keys()].filter((host) => this.awaits(host));
  }

  /**
   * The owner takes no rows of the host from here until it is listed. A list that has yielded the
   * host counts no more there, though it may be pending here: then it needs another one.
   */
  listToOwner(host: Host, owner: AgentId, now: Instant): void {
    const lists = [...this.addressees(host)].filter((id) => id === owner).length;
    if (lists < 2) this.give(owner, [host], now);
  }

  /** Opens a list to a member; an empty one tells it that there is nothing to wait for. */
  give(to: AgentId, hosts: readonly Host[], now: Instant): void {
    this.giveFrom(to, { walk: new GivenHosts(hosts), names: () => true }, now);
  }

  /**
   * The same of hosts that are found while the list is sent: too many to look up at once. A list
   * of all that a leaver has says which `leavers` it takes into account.
   */
  giveFrom(to: AgentId, source: ListSource, now: Instant, leavers: readonly AgentId[] = []): void {
    const number = ++this.#lastNumber;
    this.#given.set(number, {
      number,
      to,
      source,
      unsent: [],
      sending: null,
      part: 0,
      named: false,
      pending: new Set(),
      withdrawn: new Set(),
      leavers,
      openedAt: now.mono,
      settleUntil: now.mono + this.#settleMs(),
      sentAt: -Infinity,
      offered: [],
      yielded: new Set(),
      total: 0,
    });
  }

  /**
   * A page with links to one that is still joining settles after that one has joined, for which it
   * may need a time-out itself: an agent of the config that never comes is waited for so long.
   */
  #settleMs(): number {
    const { suspectAfterMs } = this.#settings;
    for (const member of this.#view.members()) if (!member.joined) return 2 * suspectAfterMs;
    return suspectAfterMs;
  }

  /** Drops all that concerned a member that is gone. */
  forget(id: AgentId): void {
    this.#owed.forget(id);
    for (const [number, list] of this.#given) if (list.to === id) this.#given.delete(number);
    for (const key of this.#received.keys()) {
      if (key.startsWith(`${id}.`)) this.#received.delete(key);
    }
    this.#swept = this.#awaited.entries();
  }

  /** Drops what lists of members that are gone have named: some hosts each turn. */
  #sweep(): void {
    for (let left = this.#settings.bounds.hostsPerTurn; this.#swept && left > 0; left--) {
      const next = this.#swept.next();
      if (next.done) {
        this.#swept = null;
        return;
      }
      const [host, keys] = next.value;
      // Each by itself: another member may still be to yield the host, and then none would be left to.
      for (const key of keys) if (!this.#received.has(key)) keys.delete(key);
      if (keys.size === 0) this.#awaited.delete(host);
    }
  }

  /** Whether a list of the member names the host, which it has not yielded yet. */
  isListedBy(host: Host, { card }: Member): boolean {
    const lists = `${card.id}.${card.inc}/`;
    for (const key of this.#awaited.get(host) ?? []) if (key.startsWith(lists)) return true;
    return false;
  }

  /** A list of another. Gives the hosts it names; null: it has no end, and is not taken any more. */
  onList(from: Member, message: List, now: Instant): readonly Host[] | null {
    const key = keyOf(from, message.list);
    const expected = this.#received.get(key) ?? 0;
    if (message.part > expected) return [];
    if (message.part >= this.#settings.bounds.listParts) {
      const why = `its list has more than ${this.#settings.bounds.listParts} parts`;
      this.#refused.refuse(from.card.id, 'list', why, now);
      return null;
    }
    const ack: Message = { type: 'LIST_ACK', list: message.list, part: message.part };
    this.#outbound.toMember(from, ack);
    if (message.part < expected) return [];
    this.#received.set(key, expected + 1);
    for (const host of message.hosts) {
      const keys = this.#awaited.get(host);
      if (keys) keys.add(key);
      else this.#awaited.set(host, new Set([key]));
    }
    if (message.last) this.#owed.received(from.card.id, message.leavers);
    return message.hosts;
  }

  onListAck(from: Member, list: number, part: number): void {
    const given = this.#given.get(list);
    if (!given || given.to !== from.card.id || given.part !== part) return;
    given.named = given.sending?.last ?? false;
    given.sending = null;
    given.part++;
    given.sentAt = -Infinity;
  }

  /**
   * Hosts given to this agent by their former holder; what is not for this agent by its own view
   * is left unanswered: the sender will see the owner change. Acknowledged once joined and safe at
   * this agent's backups (`answer`). Gives the hosts that this sender awaits no more.
   */
  onYield(from: Member, message: Yield, copies: YieldCopies): YieldItem[] {
    const { id, inc } = from.card;
    const { list } = message;
    const key = keyOf(from, list);
    const freed: YieldItem[] = [];
    const withdrawals: { host: Host; keep: boolean }[] = [];
    for (const item of message.items) {
      const { host } = item;
      const withdrawn = item.withdrawn ?? false;
      if (!withdrawn && !this.#view.owns(host)) continue;
      if (withdrawn) withdrawals.push({ host, keep: false });
      else this.#owe(`${key} ${host}`, { from: id, inc, list, host }, copies);
      const keys = this.#awaited.get(host);
      if (!keys?.delete(key)) continue;
      if (keys.size === 0) this.#awaited.delete(host);
      freed.push(item);
    }
    if (withdrawals.length > 0) {
      const ack: Message = { type: 'YIELD_ACK', list, items: withdrawals };
      this.#outbound.toMember(from, ack, { durable: true });
    }
    return freed;
  }

  /** A yield that is resent waits for no more than the first did. */
  #owe(key: string, answer: Omit<OwedAnswer, 'n'>, copies: YieldCopies): void {
    if (this.#owing.has(key)) return;
    const { host } = answer;
    copies.invalidate(host);
    this.#owing.set(key, { ...answer, n: copies.lastNumber(host) });
  }

  /** Acknowledges the yields whose hosts are safe at this agent's backups; once it has joined. */
  answer(copies: YieldCopies): void {
    const acks = new Map<string, { member: Member; list: number; items: YieldAckItem[] }>();
    for (const [key, owed] of this.#owing) {
      const member = this.#view.get(owed.from);
      if (member?.card.inc !== owed.inc || !this.#view.owns(owed.host)) {
        this.#owing.delete(key);
        continue;
      }
      if (!copies.isSafe(owed.host, owed.n)) continue;
      const listKey = keyOf(member, owed.list);
      const ack = acks.get(listKey) ?? { member, list: owed.list, items: [] };
      if (ack.items.length >= this.#settings.bounds.yieldHosts) continue;
      acks.set(listKey, ack);
      this.#owing.delete(key);
      ack.items.push({ host: owed.host, keep: copies.targets(owed.host).includes(owed.from) });
    }
    for (const { member, list, items } of acks.values()) {
      this.#outbound.toMember(member, { type: 'YIELD_ACK', list, items }, { durable: true });
    }
  }

  /** Gives the hosts that the owner now has at its own backups, and whether to keep the copies. */
  onYieldAck(
    from: Member,
    list: number,
    items: readonly YieldAckItem[],
    now: Instant,
  ): YieldAckItem[] {
    const given = this.#given.get(list);
    if (!given || given.to !== from.card.id) return [];
    const returned: YieldAckItem[] = [];
    for (const item of items) {
      const { host } = item;
      if (!given.yielded.has(host)) {
        const why = `${host.slice(0, 100)} was not yielded`;
        if (given.pending.has(host)) this.#refused.refuse(from.card.id, 'yield-ack', why, now);
        continue;
      }
      if (given.pending.delete(host) && !given.withdrawn.has(host)) returned.push(item);
    }
    given.offered = given.offered.filter((host) => given.pending.has(host));
    if (given.offered.length === 0) given.sentAt = -Infinity;
    return returned;
  }

  /** Whether a list to that member names the host and it is not given yet, or may still name it. */
  isGiving(host: Host, to: AgentId): boolean {
    for (const list of this.#given.values()) {
      if (list.to === to && (!list.source.walk.isOver || list.pending.has(host))) return true;
    }
    return false;
  }

  isListed(host: Host): boolean {
    for (const _ of this.addressees(host)) return true;
    return false;
  }

  /**
   * Sends what is due. Gives the lists that are finished, with the time they took. The parts of a
   * later list to a member wait until an earlier one has arrived whole: whoever is owed a list
   * takes the first that comes for it, and nothing else may overtake it.
   */
  advance(hosts: YieldableHosts, now: Instant): FinishedList[] {
    for (const list of [...this.#given.values()]) {
      if (!this.#view.has(list.to)) this.#given.delete(list.number);
    }
    this.#sweep();
    this.#sendParts(hosts, now);
    return this.#sendYields(hosts, now);
  }

  #isDue(list: GivenList, now: Instant): boolean {
    return now.mono - list.sentAt >= resendAfterMs(this.#settings);
  }

  #sendParts(hosts: YieldableHosts, now: Instant): void {
    const listing = new Set<AgentId>();
    this.#looks = this.#settings.bounds.hostsPerTurn;
    for (const list of this.#given.values()) {
      if (list.named || listing.has(list.to)) continue;
      listing.add(list.to);
      if (!this.#isDue(list, now) || !this.#hasPart(list, hosts)) continue;
      this.#sendPart(list, this.#view.get(list.to)!, hosts.permitsMs(now), now);
    }
  }

  /**
   * They have look-ups of their own, and each list goes to the end after its turn: hosts that are
   * not ready hold up neither the other lists nor the parts that make them ready.
   */
  #sendYields(hosts: YieldableHosts, now: Instant): FinishedList[] {
    const finished: FinishedList[] = [];
    this.#looks = this.#settings.bounds.hostsPerTurn;
    for (const list of [...this.#given.values()]) {
      if (!list.named || this.#looks <= 0) continue;
      if (list.pending.size > 0 && !this.#isDue(list, now)) continue;
      this.#given.delete(list.number);
      if (list.pending.size === 0) {
        finished.push({ to: list.to, hosts: list.total, tookMs: now.mono - list.openedAt });
        continue;
      }
      this.#given.set(list.number, list);
      this.#sendYield(list, this.#view.get(list.to)!, hosts, now);
    }
    return finished;
  }

  /** Makes the next part, unless it waits for its acknowledgement; some look-ups each turn. */
  #hasPart(list: GivenList, hosts: YieldableHosts): boolean {
    if (list.sending) return true;
    const { source, unsent } = list;
    const { walk, names } = source;
    const { listHosts } = this.#settings.bounds;
    while (!walk.isOver && unsent.length < listHosts && this.#looks > 0) {
      const hosts = walk.take(Math.min(listHosts - unsent.length, this.#looks));
      this.#looks -= Math.max(1, hosts.length);
      for (const host of hosts) if (names(host)) unsent.push(host);
    }
    const last = walk.isOver;
    if (!last && unsent.length < listHosts) return false;
    list.sending = { hosts: unsent, last };
    list.unsent = [];
    list.total += unsent.length;
    for (const host of unsent) {
      list.pending.add(host);
      hosts.named(host, list.to);
    }
    return true;
  }

  #sendPart(list: GivenList, member: Member, slotsMs: number, now: Instant): void {
    if (!list.sending) return;
    list.sentAt = now.mono;
    this.#outbound.toMember(member, {
      type: 'LIST',
      list: list.number,
      part: list.part,
      hosts: list.sending.hosts,
      last: list.sending.last,
      leavers: list.leavers,
      ...(slotsMs > 0 ? { slotsMs } : {}),
    });
  }

  #sendYield(list: GivenList, member: Member, hosts: YieldableHosts, now: Instant): void {
    const { yieldHosts } = this.#settings.bounds;
    const items: YieldItem[] = [];
    const astray = new Map<AgentId, Host[]>();
    let looks = list.pending.size;
    for (const host of list.pending) {
      if (looks-- <= 0 || items.length >= yieldHosts || this.#looks-- <= 0) break;
      // Those that are not ready yet go to the end of their list.
      const owner = this.#view.owner(host);
      const astrayTo = owner === list.to || owner === this.#settings.id ? undefined : owner;
      const withdrawn = owner !== list.to || list.withdrawn.has(host);
      if (hosts.isOpen(host) || !(withdrawn || hosts.isGiven(host, list.to, list.settleUntil))) {
        list.pending.delete(host);
        list.pending.add(host);
        continue;
      }
      const waitMs = Math.ceil(hosts.waitLeftMs(host, now));
      items.push(withdrawn ? { host, waitMs, withdrawn } : { host, waitMs });
      if (!withdrawn || list.withdrawn.has(host)) continue;
      list.withdrawn.add(host);
      if (astrayTo === undefined) continue;
      const named = astray.get(astrayTo);
      if (named) named.push(host);
      else astray.set(astrayTo, [host]);
    }
    for (const [owner, named] of astray) this.give(owner, named, now);
    if (items.length === 0) return;
    list.sentAt = now.mono;
    list.offered = items.map((item) => item.host);
    for (const host of list.offered) list.yielded.add(host);
    this.#outbound.toMember(member, { type: 'YIELD', list: list.number, items });
  }
}

function keyOf(from: Member, list: number): string {
  return `${from.card.id}.${from.card.inc}/${list}`;
}
