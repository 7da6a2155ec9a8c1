// Hands hosts over to their new owners (PROTOCOL rules 8 to 10). An agent with rows of a host that
// another agent now owns names the host in a LIST to the owner, and YIELDs it when no request is
// open and the owner has the rows, which `replication.ts` streams. The owner requests nothing
// before that. The owner acknowledges the YIELD when its backups have the rows; only then may the
// copy be deleted.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { Member, View } from '../membership/view.ts';
import type { AgentId, Host, Incarnation, Message, YieldItem } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';
import {
  type FinishedList,
  GivenHosts,
  type GivenList,
  hasOpen,
  type ListSource,
  type YieldableHosts,
} from './given-list.ts';
import { OwedLists } from './owed-lists.ts';
import { keyOf, ReceivedLists } from './received-lists.ts';
import { UnplacedHosts } from './unplaced-hosts.ts';

type List = Extract<Message, { type: 'LIST' }>;
type Yield = Extract<Message, { type: 'YIELD' }>;
export type YieldAckItem = Extract<Message, { type: 'YIELD_ACK' }>['items'][number];

/** A received YIELD of a host that is not acknowledged yet. */
interface OwedAnswer {
  readonly from: AgentId;
  readonly inc: Incarnation;
  readonly list: number;
  readonly host: Host;
  /** The host's last number when it was yielded. */
  readonly n: number;
}

/** The copies at the backups, on which YIELD_ACK depends. */
interface YieldCopies {
  /** Another agent owned the host, so the known marks of its copies may be wrong. */
  invalidate(host: Host): void;
  isSafe(host: Host, n: number): boolean;
  targets(host: Host): readonly AgentId[];
  lastNumber(host: Host): number;
}

/** Maximum number of awaited hosts that `counts` checks one by one. */
const COUNTED_MAX = 1000;

export class HandOff implements Part {
  readonly #settings: CoreSettings;
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #refused: RefusedClaims;
  readonly #given = new Map<number, GivenList>();
  readonly #owed = new OwedLists();
  /** By awaited host, the lists that have named it and not yielded it: keys `id.inc/list`. */
  readonly #awaited = new Map<Host, Set<string>>();
  /** Entries of `#awaited` to sweep after a removal; null: the sweep is finished. */
  #swept: Iterator<[Host, Set<string>]> | null = null;
  readonly #received = new ReceivedLists();
  /** Received YIELDs that wait for this agent's backups: keys as above, and the host. */
  readonly #owing = new Map<string, OwedAnswer>();
  readonly unplaced = new UnplacedHosts();
  /** Host look-ups left in this turn. */
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
    this.unplaced.clear();
  }

  owedAny(): boolean {
    return !this.#owed.isEmpty;
  }

  awaits(host: Host): boolean {
    // Lists of removed members do not count.
    for (const key of this.#awaited.get(host) ?? []) if (this.#received.has(key)) return true;
    return false;
  }

  /** Nothing is owed, awaited or to be given: a condition of idleness. */
  get isQuiet(): boolean {
    if (this.#given.size > 0 || !this.#owed.isEmpty || this.#owing.size > 0) return false;
    if (!this.unplaced.isEmpty) return false;
    for (const host of this.#awaited.keys()) {
      if (this.#view.owns(host) && this.awaits(host)) return false;
    }
    return true;
  }

  /** Members to which the host is listed and not yet handed over: they get its rows. */
  *addressees(host: Host): Iterable<AgentId> {
    for (const list of this.#given.values()) if (list.pending.has(host)) yield list.to;
  }

  /** Whether a list to or from the agent is not finished. */
  isWith(id: AgentId): boolean {
    if (this.#owed.has(id) || this.#given.values().some(({ to }) => to === id)) return true;
    if (this.#owing.values().some(({ from }) => from === id)) return true;
    if (this.#received.isOpen(id)) return true;
    const lists = `${id}.`;
    return this.#awaited.values().some((keys) => [...keys].some((key) => key.startsWith(lists)));
  }

  hasGivenAll(): boolean {
    return this.#given.size === 0;
  }

  /** `awaited` counts owned hosts only; if there are very many entries, it counts all of them. */
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

  /** The members that owe a list, each with the leavers that it must take into account. */
  debtors(): Iterable<readonly [AgentId, ReadonlySet<AgentId>]> {
    return this.#owed.all();
  }

  /** Whether the member has not acknowledged all parts of a list to it. */
  isListingTo(id: AgentId): boolean {
    return this.#given.values().some((list) => list.to === id && !list.named);
  }

  /** One more member is leaving. */
  expectListsOfLeavers(): void {
    const leavers = this.#view.leavers().filter((id) => id !== this.#settings.id);
    this.#owed.expectOfLeavers(leavers);
  }

  /** Hosts that others have listed and not yielded yet. */
  awaitedHosts(): Host[] {
    return [...this.#awaited.keys()].filter((host) => this.awaits(host));
  }

  /**
   * Lists the host to its owner, which accepts its rows only after that. A list that has yielded the
   * host does not count: if rows are added before the YIELD_ACK, the owner refuses them.
   */
  listToOwner(host: Host, owner: AgentId, now: Instant): void {
    const lists = this.#given.values().filter((list) => list.to === owner);
    const names = ({ source, pending, yielded }: GivenList) =>
      !source.walk.isOver || (pending.has(host) && !yielded.has(host));
    if (!lists.some(names)) this.give(owner, [host], now);
  }

  /** Opens a list to a member; an empty one tells it that no host is to be awaited. */
  give(to: AgentId, hosts: readonly Host[], now: Instant): void {
    this.giveFrom(to, { walk: new GivenHosts(hosts), names: () => true }, now);
  }

  /**
   * Opens a list of hosts that are looked up while it is sent.
   *
   * @param leavers - as in LIST
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
   * A page with links to a joining agent settles only after the join, and the join may have to wait
   * `suspectAfterMs` for a configured agent that does not start.
   */
  #settleMs(): number {
    const { suspectAfterMs } = this.#settings;
    for (const member of this.#view.members()) if (!member.joined) return 2 * suspectAfterMs;
    return suspectAfterMs;
  }

  /** Drops the state of a removed member. */
  forget(id: AgentId): void {
    this.#owed.forget(id);
    for (const [number, list] of this.#given) if (list.to === id) this.#given.delete(number);
    this.#received.forget(id);
    this.#swept = this.#awaited.entries();
  }

  /** Removes lists of removed members from the awaited hosts: some hosts each turn. */
  #sweep(): void {
    for (let left = this.#settings.bounds.hostsPerTurn; this.#swept && left > 0; left--) {
      const next = this.#swept.next();
      if (next.done) {
        this.#swept = null;
        return;
      }
      const [host, keys] = next.value;
      for (const key of keys) if (!this.#received.has(key)) keys.delete(key);
      if (keys.size === 0) this.#awaited.delete(host);
    }
  }

  /** Whether a list of the member has named the host and not yielded it. */
  isListedBy(host: Host, { card }: Member): boolean {
    const lists = `${card.id}.${card.inc}/`;
    for (const key of this.#awaited.get(host) ?? []) if (key.startsWith(lists)) return true;
    return false;
  }

  /** Returns the hosts that the part adds; null: the list exceeds `listParts` and is refused. */
  onList(from: Member, message: List, now: Instant): readonly Host[] | null {
    const key = keyOf(from, message.list);
    const expected = this.#received.expected(from, message.list);
    if (message.part > expected) return [];
    if (message.part >= this.#settings.bounds.listParts) {
      const why = `its list has more than ${this.#settings.bounds.listParts} parts`;
      this.#refused.refuse(from.card.id, 'list', why, now);
      return null;
    }
    const ack: Message = { type: 'LIST_ACK', list: message.list, part: message.part };
    this.#outbound.toMember(from, ack);
    if (message.part < expected) return [];
    this.#received.take(from, message);
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
   * Returns the items whose hosts are no longer awaited. `answer` acknowledges them later. Hosts
   * that this agent does not own are not acknowledged: the sender will learn of the new owner.
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

  /** A resent YIELD keeps the number of the first one. */
  #owe(key: string, answer: Omit<OwedAnswer, 'n'>, copies: YieldCopies): void {
    if (this.#owing.has(key)) return;
    const { host } = answer;
    copies.invalidate(host);
    this.#owing.set(key, { ...answer, n: copies.lastNumber(host) });
  }

  /** Acknowledges YIELDs whose hosts are safe at this agent's backups. Called after the join. */
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

  /** Returns the items whose hosts are safe at the owner's backups. */
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
      if (!given.pending.delete(host) || given.withdrawn.has(host)) continue;
      this.unplaced.delete(host);
      returned.push(item);
    }
    given.offered = given.offered.filter((host) => given.pending.has(host));
    if (given.offered.length === 0) given.sentAt = -Infinity;
    return returned;
  }

  /** Whether the host is on an unfinished list to that member, or may still be added to one. */
  isGiving(host: Host, to: AgentId): boolean {
    const lists = this.#given.values().filter((list) => list.to === to);
    return lists.some((list) => !list.source.walk.isOver || hasOpen(list, host));
  }

  isListed(host: Host): boolean {
    return this.#given.values().some((list) => hasOpen(list, host));
  }

  /**
   * Sends what is due; returns the lists that are finished. The receiver accepts the first complete
   * list as the one that is owed, so a member's lists are sent one after the other.
   */
  advance(hosts: YieldableHosts, now: Instant): FinishedList[] {
    for (const [number, { to }] of this.#given) if (!this.#view.has(to)) this.#given.delete(number);
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
   * Has its own number of look-ups, and moves each list to the end after its turn. So hosts that
   * are not ready delay neither other lists nor the parts of lists.
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

  /** Whether a part can be sent. Makes the next part if none waits for its LIST_ACK. */
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
      this.unplaced.delete(host);
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
    const misplaced = new Map<AgentId, Host[]>();
    let looks = list.pending.size;
    for (const host of list.pending) {
      if (looks-- <= 0 || items.length >= yieldHosts || this.#looks-- <= 0) break;
      const owner = this.#view.probableOwner(host);
      // The rows of a host that was withdrawn earlier may have been handed over since.
      const isNew = !list.withdrawn.has(host);
      if (isNew && this.#view.owner(host) === undefined) this.unplaced.add(host);
      const withdrawn = owner !== list.to || !isNew;
      if (hosts.isOpen(host) || !(withdrawn || hosts.isGiven(host, list.to, list.settleUntil))) {
        // A host that is not ready moves to the end.
        list.pending.delete(host);
        list.pending.add(host);
        continue;
      }
      const waitMs = Math.ceil(hosts.waitLeftMs(host, now));
      items.push(withdrawn ? { host, waitMs, withdrawn } : { host, waitMs });
      if (!withdrawn || list.withdrawn.has(host)) continue;
      list.withdrawn.add(host);
      if (owner === undefined || owner === this.#settings.id) continue;
      const named = misplaced.get(owner);
      if (named) named.push(host);
      else misplaced.set(owner, [host]);
    }
    for (const [owner, named] of misplaced) this.give(owner, named, now);
    if (items.length === 0) return;
    list.sentAt = now.mono;
    list.offered = items.map((item) => item.host);
    for (const host of list.offered) list.yielded.add(host);
    this.#outbound.toMember(member, { type: 'YIELD', list: list.number, items });
  }
}
