// Streams the rows of hosts to other agents (PROTOCOL rules 9, 11 and 13): to the backups of a host
// that this agent owns, and to the addressee of a list. Acknowledgements to others wait until all
// backups have acknowledged (`isSafe`). The marks of the copies are kept in memory only. Each
// incarnation queries them, and queries them again whenever another owner may have had a copy
// deleted.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { HandOff } from '../hand-off/hand-off.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { Member, View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { AgentId, Host, Message, PageRow, RowEvent, RowsItem } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';

/** Maximum size of one ROWS, in characters. */
const ROWS_CHARS_MAX = 128 * 1024;

/** Size of an event, a host and its failures in a message, without their longest texts. */
const EVENT_CHARS = 120;
const ITEM_CHARS = 80;
const FAILURES_CHARS = 100;

type Rows = Extract<Message, { type: 'ROWS' }>;
type RowsAck = Extract<Message, { type: 'ROWS_ACK' }>;

/** The copy of a host that a peer last acknowledged. */
interface Acked {
  readonly gen: number;
  readonly mark: number;
}

/** The state of the stream to one peer. */
interface Stream {
  /** Hosts that may have events for the peer. */
  readonly due: Set<Host>;
  /**
   * Hosts whose rows the peer refused, with the time at which they are due again. It refuses them
   * until the views agree.
   */
  readonly later: Map<Host, number>;
  /** The highest generation that the peer reported in a heartbeat. */
  gen: number;
  /** When its marks were last invalidated because of that. */
  invalidatedAt: number;
  /** The one message that waits for its ROWS_ACK. */
  flight: { readonly message: Rows; sentAt: number } | null;
}

interface ReplicationParts {
  readonly settings: CoreSettings;
  readonly store: Store;
  readonly view: View;
  readonly outbound: Outbound;
  readonly handOff: Pick<HandOff, 'addressees' | 'listToOwner'>;
  readonly refused: RefusedClaims;
}

export class Replication {
  readonly #p: ReplicationParts;
  #acked = new Map<Host, Map<AgentId, Acked>>();
  /**
   * Hosts whose marks may be wrong, to be checked some each turn. Filled when a member is removed
   * or leaves, and by each peer at most once in `suspectAfterMs`.
   */
  #invalidated: Iterator<Host>[] = [];
  readonly #streams = new Map<AgentId, Stream>();
  /** Hosts whose receivers or rows have changed; emptied by `pump`, some each turn. */
  readonly #changed = new Set<Host>();
  #lastNumber = 0;

  constructor(parts: ReplicationParts) {
    this.#p = parts;
  }

  reset(): void {
    this.#acked = new Map();
    this.#invalidated = [];
    this.#streams.clear();
    this.#changed.clear();
  }

  /** The member was removed; the caller then calls `invalidateAll`, which forgets its marks. */
  forget(id: AgentId): void {
    this.#streams.delete(id);
  }

  forgetHost(host: Host): void {
    this.#acked.delete(host);
  }

  // ---- invalidation: marks that may be wrong are queried again

  /** A member has lost its place on the ring: as an owner it may have had copies deleted. */
  invalidateAll(): void {
    if (this.#acked.size > 0) this.#invalidated.push(this.#acked.keys());
    this.#acked = new Map();
    for (const stream of this.#streams.values()) this.#cancelFlight(stream);
  }

  /** Another agent yields the host, so it may have had copies deleted. */
  invalidate(host: Host): void {
    if (this.#acked.delete(host)) this.#changed.add(host);
    for (const stream of this.#streams.values()) {
      if (stream.flight?.message.items.some((item) => item.host === host))
        this.#cancelFlight(stream);
    }
  }

  /** The host is on a list to `to`, which may have deleted its copy since it was a backup. */
  listed(host: Host, to: AgentId): void {
    this.#acked.get(host)?.delete(to);
    this.#changed.add(host);
  }

  /**
   * The peer's generation shows that it has deleted copies or marks. A peer that returns many hosts
   * does so for a while, so its marks are invalidated at most once in `suspectAfterMs`.
   */
  deletedBy(id: AgentId, gen: number, now: Instant): void {
    const stream = this.#streamTo(id);
    if (gen <= stream.gen || now.mono - stream.invalidatedAt < this.#p.settings.suspectAfterMs)
      return;
    stream.gen = gen;
    stream.invalidatedAt = now.mono;
    if (this.#acked.size > 0) this.#invalidated.push(this.#acked.keys());
  }

  /**
   * Ignores the ROWS_ACK of the message in flight, which may report marks that are wrong by then.
   */
  #cancelFlight(stream: Stream): void {
    for (const { host } of stream.flight?.message.items ?? []) stream.due.add(host);
    stream.flight = null;
  }

  // ---- the state of the copies

  /** The highest event number of the host here. */
  lastNumber(host: Host): number {
    return this.#p.store.lastNumber(host);
  }

  /** The backups of the host, without this agent. */
  targets(host: Host): AgentId[] {
    const { id, backups } = this.#p.settings;
    if (backups === 0) return [];
    const order = this.#p.view.assignment().order(host, backups + 1);
    return order.filter((name) => name !== id).slice(0, backups);
  }

  /** Whether all current backups of the host are known and have its events up to `n`. */
  isSafe(host: Host, n: number): boolean {
    const { settings, view } = this.#p;
    if (settings.backups === 0) return true;
    if (view.mayBeElsewhere(host)) return false;
    return this.targets(host).every((id) => this.#markOf(host, id) >= n);
  }

  /** Whether `to` has all events of the host. */
  isCaughtUp(host: Host, to: AgentId): boolean {
    const mark = this.#markOf(host, to);
    return mark >= 0 && mark >= this.#p.store.lastNumber(host);
  }

  /** -1: unknown, or acknowledged before the peer deleted copies. */
  #markOf(host: Host, id: AgentId): number {
    const acked = this.#acked.get(host)?.get(id);
    if (!acked || acked.gen < (this.#streams.get(id)?.gen ?? 0)) return -1;
    return acked.mark;
  }

  get isQuiet(): boolean {
    if (this.isBusy || this.#p.store.hasChangedHosts()) return false;
    for (const stream of this.#streams.values()) {
      if (stream.due.size > 0 || stream.later.size > 0 || stream.flight) return false;
    }
    return true;
  }

  get isBusy(): boolean {
    return this.#changed.size > 0 || this.#invalidated.length > 0;
  }

  /** Number of hosts with events that a peer lacks, counted for each peer. */
  lag(): number {
    let hosts = this.#changed.size;
    for (const { due, later, flight } of this.#streams.values()) {
      hosts += due.size + later.size + (flight?.message.items.length ?? 0);
    }
    return hosts;
  }

  /** The host may have new receivers. */
  changed(host: Host): void {
    this.#changed.add(host);
  }

  // ---- the streams

  /** Sends what is due: at most one message in flight to each peer. */
  pump(now: Instant): void {
    for (const host of this.#p.store.takeChangedHosts()) this.#changed.add(host);
    let left = this.#p.settings.bounds.streamHosts;
    for (const host of this.#changed) {
      if (left-- === 0) break;
      this.#changed.delete(host);
      this.#distribute(host);
    }
    this.#distributeInvalidated(left);
    for (const [id, stream] of this.#streams) {
      const member = this.#p.view.get(id);
      if (!member) {
        this.#streams.delete(id);
        continue;
      }
      for (const [host, at] of stream.later) {
        if (now.mono < at) break;
        stream.later.delete(host);
        stream.due.add(host);
      }
      if (stream.flight) this.#resend(member, stream.flight, now);
      else if (stream.due.size > 0) this.#send(member, stream, now);
    }
  }

  #distributeInvalidated(hosts: number): void {
    for (let left = hosts; left > 0; left--) {
      const next = this.#invalidated[0]?.next();
      if (!next) return;
      if (next.done) this.#invalidated.shift();
      else this.#distribute(next.value);
    }
  }

  #distribute(host: Host): void {
    const to = new Set(this.#p.handOff.addressees(host));
    if (this.#p.view.owns(host)) for (const id of this.targets(host)) to.add(id);
    for (const id of to) {
      if (!this.#p.view.has(id) || this.isCaughtUp(host, id)) continue;
      this.#streamTo(id).due.add(host);
    }
  }

  #streamTo(id: AgentId): Stream {
    let stream = this.#streams.get(id);
    if (!stream) {
      stream = { due: new Set(), later: new Map(), gen: 0, invalidatedAt: -Infinity, flight: null };
      this.#streams.set(id, stream);
    }
    return stream;
  }

  #resend(member: Member, flight: { message: Rows; sentAt: number }, now: Instant): void {
    if (now.mono - flight.sentAt < resendAfterMs(this.#p.settings)) return;
    flight.sentAt = now.mono;
    this.#p.outbound.toMember(member, flight.message);
  }

  #send(member: Member, stream: Stream, now: Instant): void {
    const { rowEvents, rowHosts } = this.#p.settings.bounds;
    const items: RowsItem[] = [];
    let events = 0;
    let chars = 0;
    for (const host of stream.due) {
      if (items.length >= rowHosts || events >= rowEvents) break;
      if (chars >= ROWS_CHARS_MAX) break;
      stream.due.delete(host);
      if (this.isCaughtUp(host, member.card.id) || !this.#isFor(host, member.card.id)) continue;
      const room = { events: rowEvents - events, chars: ROWS_CHARS_MAX - chars };
      const { item, itemChars } = this.#itemOf(host, member.card.id, room, now);
      chars += itemChars;
      events += item.events.length;
      items.push(item);
    }
    if (items.length === 0) return;
    const message: Rows = { type: 'ROWS', number: ++this.#lastNumber, items };
    stream.flight = { message, sentAt: now.mono };
    this.#p.outbound.toMember(member, message);
  }

  /**
   * Whether the agent is to get the host's rows. The view may have changed since the host was due.
   */
  #isFor(host: Host, id: AgentId): boolean {
    if (this.#p.view.owns(host) && this.targets(host).includes(id)) return true;
    return [...this.#p.handOff.addressees(host)].includes(id);
  }

  /** The next events above the peer's mark; without events if the mark is to be queried. */
  #itemOf(
    host: Host,
    id: AgentId,
    room: { events: number; chars: number },
    now: Instant,
  ): { item: RowsItem; itemChars: number } {
    const mark = this.#markOf(host, id);
    const backoffMs = Math.max(0, this.#p.store.backoffUntil(host) - now.mono);
    const delayMs = this.#p.store.delayOf(host);
    const { busy, stale, failures } = this.#p.store.countsOf(host, now.mono);
    const counts = {
      ...(busy > 0 && { busy }),
      ...(stale > 0 && { stale }),
      ...(failures && { failures }),
    };
    const about = { host, version: this.#p.store.counter(), backoffMs, delayMs, ...counts };
    const itemChars = host.length + ITEM_CHARS + (failures ? FAILURES_CHARS : 0);
    if (mark < 0) return { item: { ...about, from: 0, to: 0, events: [] }, itemChars };
    // A message is resent for no longer than that, because then its receiver is removed.
    const arrivesBy = now.mono + this.#p.settings.suspectAfterMs;
    const read = this.#p.store.rowEvents(host, mark, room.events, arrivesBy);
    let chars = itemChars;
    let taken = 0;
    for (const event of read.events) {
      chars += charsOf(event);
      if (taken > 0 && chars > room.chars) break;
      taken++;
    }
    const events = read.events.slice(0, taken);
    const to = taken === read.events.length ? read.to : events.at(-1)!.n;
    return { item: { ...about, from: mark, to, events }, itemChars: chars };
  }

  /** Returns the hosts whose copies at the peer have progressed. */
  onRowsAck(from: Member, message: RowsAck, now: Instant): Host[] {
    const { id } = from.card;
    const stream = this.#streams.get(id);
    if (message.number > this.#lastNumber) {
      this.#p.refused.refuse(id, 'rows-ack', 'no such rows were sent', now);
      return [];
    }
    if (!stream || stream.flight?.message.number !== message.number) return [];
    if (message.gen < stream.gen) {
      this.#cancelFlight(stream);
      return [];
    }
    const sent = new Map(stream.flight.message.items.map((item) => [item.host, item]));
    stream.flight = null;
    const progressed: Host[] = [];
    for (const { host, mark } of message.items) {
      const item = sent.get(host);
      const wrong = this.#wrongMark(item, mark);
      if (wrong !== null) this.#p.refused.refuse(id, 'rows-ack', wrong, now);
      else if (this.#noteMark(host, id, message.gen, mark)) progressed.push(host);
      if (!item) continue;
      const isRefused = wrong !== null || (item.events.length > 0 && mark === item.from);
      if (this.#isFor(host, id) && !this.isCaughtUp(host, id)) {
        if (isRefused) {
          stream.later.set(host, now.mono + resendAfterMs(this.#p.settings));
          if (this.#p.view.owner(host) === id) this.#p.handOff.listToOwner(host, id, now);
        } else stream.due.add(host);
      }
      this.#trim(host);
    }
    return progressed;
  }

  /** Why the acknowledged mark cannot be true, or null. */
  #wrongMark(item: RowsItem | undefined, mark: number): string | null {
    if (!item) return 'it acknowledges a host whose rows were not sent';
    const highest = this.#p.store.counter();
    return mark > highest ? `its mark ${mark} is above the highest number, ${highest}` : null;
  }

  /** Returns whether the copy has progressed. With one message in flight, no answer is outdated. */
  #noteMark(host: Host, id: AgentId, gen: number, mark: number): boolean {
    const marks = this.#acked.get(host) ?? new Map<AgentId, Acked>();
    this.#acked.set(host, marks);
    const known = marks.get(id);
    marks.set(id, { gen, mark });
    return known === undefined || gen !== known.gen || mark > known.mark;
  }

  /** Drops events that all receivers have from the cache. */
  #trim(host: Host): void {
    const receivers = [...this.targets(host), ...this.#p.handOff.addressees(host)];
    if (receivers.length === 0) return;
    const least = Math.min(...receivers.map((id) => this.#markOf(host, id)));
    this.#p.store.trimRowEvents(host, Math.max(0, least));
  }
}

function charsOf(event: RowEvent): number {
  if (event.kind === 'robots') {
    const { origin, body = '', reason, location = '' } = event;
    return origin.length + body.length + reason.length + location.length + EVENT_CHARS;
  }
  const texts =
    event.kind === 'found'
      ? (event.fetchUrl?.length ?? 0) + (event.referrer?.length ?? 0)
      : event.kind === 'done'
        ? pageChars(event.page)
        : pageChars(event.former) + (event.fetchUrl?.length ?? 0);
  return event.key.length + texts + EVENT_CHARS;
}

function pageChars(page: PageRow | undefined): number {
  const { redirectTo, contentType, canonical, warcFile, etag, originalUrl } = page ?? {};
  const texts = [redirectTo, contentType, canonical, warcFile, etag, originalUrl];
  return texts.reduce<number>((sum, text) => sum + (text?.length ?? 0), 0);
}
