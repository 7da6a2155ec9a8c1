// Host state at t+1 agents (PROTOCOL rules 9, 11 and 13): the rows of each host
// are streamed, in the order of their numbers, to the host's backups if this agent owns it, and to
// the addressee of a list before the host is yielded. A backup keeps a mark in the transaction that
// applied the rows (`rows-intake.ts`); it is learned by asking, in each incarnation, never remembered. One message a
// peer is on its way at a time, with the rows of many hosts. What was acknowledged by whom decides
// what may be acknowledged to others (`isSafe`), so nothing here is lost with its sender. A copy may
// be deleted by the word of another owner: whenever the host may have had one, its marks are asked
// for again (docs/adr/0014).

import type { Instant } from '../../../failure-detector/instant.ts';
import type { HandOff } from '../hand-off/hand-off.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { Member, View } from '../membership/view.ts';
import type { Store } from '../protocol/core-store.ts';
import type { AgentId, Host, Message, PageRow, RowEvent, RowsItem } from '../protocol/messages.ts';
import { type CoreSettings, resendAfterMs } from '../protocol/settings.ts';

/** Characters of the texts of one ROWS. */
const ROWS_CHARS_MAX = 128 * 1024;

/** What an event, and a host, cost in a frame beside their longest texts. */
const EVENT_CHARS = 120;
const ITEM_CHARS = 80;
/** What the failures of a host in a row cost besides. */
const FAILURES_CHARS = 100;

type Rows = Extract<Message, { type: 'ROWS' }>;
type RowsAck = Extract<Message, { type: 'ROWS_ACK' }>;

interface Acked {
  gen: number;
  mark: number;
}

/** What goes to one peer: hosts that have something for it, and the message on its way. */
interface Stream {
  readonly due: Set<Host>;
  /**
   * Hosts whose rows the peer did not take, by the time at which they are due again: until the views
   * agree it would refuse them as often as they are sent.
   */
  readonly later: Map<Host, number>;
  /** The highest generation of its copies that the peer told in a heartbeat. */
  gen: number;
  /** When its marks were last forgotten for that. */
  invalidatedAt: number;
  flight: { readonly message: Rows; sentAt: number } | null;
}

export class Replication {
  readonly #settings: CoreSettings;
  readonly #store: Store;
  readonly #view: View;
  readonly #outbound: Outbound;
  #acked = new Map<Host, Map<AgentId, Acked>>();
  /**
   * Hosts of which marks may have become void, to be looked at again, some each turn. Filled by
   * invalidation: when a member is removed, and by each peer once in `suspectAfterMs`.
   */
  #invalidated: Iterator<Host>[] = [];
  readonly #streams = new Map<AgentId, Stream>();
  /** Hosts whose streams must be looked at again, since the view or their rows have changed. */
  readonly #changed = new Set<Host>();
  readonly #refused: RefusedClaims;
  /** Its addressees are to get all rows of a host, though they are not its backups yet. */
  readonly #handOff: Pick<HandOff, 'addressees' | 'listToOwner'>;
  #lastNumber = 0;

  constructor(parts: {
    settings: CoreSettings;
    store: Store;
    view: View;
    outbound: Outbound;
    handOff: Pick<HandOff, 'addressees' | 'listToOwner'>;
    refused: RefusedClaims;
  }) {
    this.#settings = parts.settings;
    this.#store = parts.store;
    this.#view = parts.view;
    this.#outbound = parts.outbound;
    this.#handOff = parts.handOff;
    this.#refused = parts.refused;
  }

  reset(): void {
    this.#acked = new Map();
    this.#invalidated = [];
    this.#streams.clear();
    this.#changed.clear();
  }

  /** The member is gone; the `invalidateAll` that follows forgets what it acknowledged. */
  forget(id: AgentId): void {
    this.#streams.delete(id);
  }

  forgetHost(host: Host): void {
    this.#acked.delete(host);
  }

  // ---- invalidation: marks that may be out of date are asked for anew

  /** Hosts have come from a member that lost its place: it may have let others delete copies. */
  invalidateAll(): void {
    if (this.#acked.size > 0) this.#invalidated.push(this.#acked.keys());
    this.#acked = new Map();
    for (const stream of this.#streams.values()) this.#takeBack(stream);
  }

  /** Another yields the host, so there was another owner. */
  invalidate(host: Host): void {
    if (this.#acked.delete(host)) this.#changed.add(host);
    for (const stream of this.#streams.values()) {
      if (stream.flight?.message.items.some((item) => item.host === host)) this.#takeBack(stream);
    }
  }

  /** The host is on a list to `to`, which may have had it, and deleted it, since it was a backup. */
  listed(host: Host, to: AgentId): void {
    this.#acked.get(host)?.delete(to);
    this.#changed.add(host);
  }

  /**
   * The peer has deleted copies, or marks, since it acknowledged under lower generations. One that
   * returns many hosts does so for a while: it is asked anew once in `suspectAfterMs`.
   */
  deletedBy(id: AgentId, gen: number, now: Instant): void {
    const stream = this.#streamTo(id);
    if (gen <= stream.gen || now.mono - stream.invalidatedAt < this.#settings.suspectAfterMs)
      return;
    stream.gen = gen;
    stream.invalidatedAt = now.mono;
    if (this.#acked.size > 0) this.#invalidated.push(this.#acked.keys());
  }

  /** The message on its way is not waited for: what it says may be old when its answer comes. */
  #takeBack(stream: Stream): void {
    for (const { host } of stream.flight?.message.items ?? []) stream.due.add(host);
    stream.flight = null;
  }

  // ---- what is known

  /** The highest number of the host's rows here. */
  lastNumber(host: Host): number {
    return this.#store.lastNumber(host);
  }

  /** The first t in the host's order, other than this agent. */
  targets(host: Host): AgentId[] {
    const { id, backups } = this.#settings;
    if (backups === 0) return [];
    const order = this.#view.assignment().order(host, backups + 1);
    return order.filter((name) => name !== id).slice(0, backups);
  }

  /** Whether everything of the host numbered up to `n` is at all its present backups. */
  isSafe(host: Host, n: number): boolean {
    return this.targets(host).every((id) => this.#markOf(host, id) >= n);
  }

  /** Whether `to` has everything of the host that is here. */
  isCaughtUp(host: Host, to: AgentId): boolean {
    const mark = this.#markOf(host, to);
    return mark >= 0 && mark >= this.#store.lastNumber(host);
  }

  /** -1: it is not known, or was told before the peer deleted copies. */
  #markOf(host: Host, id: AgentId): number {
    const acked = this.#acked.get(host)?.get(id);
    if (!acked || acked.gen < (this.#streams.get(id)?.gen ?? 0)) return -1;
    return acked.mark;
  }

  get isQuiet(): boolean {
    if (this.isBusy || this.#store.hasChangedHosts()) return false;
    for (const stream of this.#streams.values()) {
      if (stream.due.size > 0 || stream.later.size > 0 || stream.flight) return false;
    }
    return true;
  }

  /** The next turn has streams to look at. */
  get isBusy(): boolean {
    return this.#changed.size > 0 || this.#invalidated.length > 0;
  }

  /** Hosts that have something to send to a peer, for `status`: the lag of the copies. */
  lag(): number {
    let hosts = this.#changed.size;
    for (const { due, later, flight } of this.#streams.values()) {
      hosts += due.size + later.size + (flight?.message.items.length ?? 0);
    }
    return hosts;
  }

  /** Somebody is to have the host's rows who was not before. */
  changed(host: Host): void {
    this.#changed.add(host);
  }

  // ---- the streams

  /** Sends what is due: at most one message on its way to each peer. */
  pump(now: Instant): void {
    for (const host of this.#store.takeChangedHosts()) this.#changed.add(host);
    let left = this.#settings.bounds.streamHosts;
    for (const host of this.#changed) {
      if (left-- === 0) break;
      this.#changed.delete(host);
      this.#distribute(host);
    }
    this.#lookAgain(left);
    for (const [id, stream] of this.#streams) {
      const member = this.#view.get(id);
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

  #lookAgain(looks: number): void {
    for (let left = looks; left > 0; left--) {
      const next = this.#invalidated[0]?.next();
      if (!next) return;
      if (next.done) this.#invalidated.shift();
      else this.#distribute(next.value);
    }
  }

  #distribute(host: Host): void {
    const to = new Set(this.#handOff.addressees(host));
    if (this.#view.owns(host)) for (const id of this.targets(host)) to.add(id);
    for (const id of to) {
      if (!this.#view.has(id) || this.isCaughtUp(host, id)) continue;
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
    if (now.mono - flight.sentAt < resendAfterMs(this.#settings)) return;
    flight.sentAt = now.mono;
    this.#outbound.toMember(member, flight.message);
  }

  #send(member: Member, stream: Stream, now: Instant): void {
    const { rowEvents, rowHosts } = this.#settings.bounds;
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
    this.#outbound.toMember(member, message);
  }

  /** The view may have changed since the host came due. */
  #isFor(host: Host, id: AgentId): boolean {
    if (this.#view.owns(host) && this.targets(host).includes(id)) return true;
    for (const addressee of this.#handOff.addressees(host)) if (addressee === id) return true;
    return false;
  }

  /** The next events above the peer's mark; none at all where the mark is still to be learned. */
  #itemOf(
    host: Host,
    id: AgentId,
    room: { events: number; chars: number },
    now: Instant,
  ): { item: RowsItem; itemChars: number } {
    const mark = this.#markOf(host, id);
    const backoffMs = Math.max(0, this.#store.backoffUntil(host) - now.mono);
    const delayMs = this.#store.delayOf(host);
    const { busy, stale, failures } = this.#store.countsOf(host, now.mono);
    const counts = {
      ...(busy > 0 && { busy }),
      ...(stale > 0 && { stale }),
      ...(failures && { failures }),
    };
    const about = { host, version: this.#store.counter(), backoffMs, delayMs, ...counts };
    const itemChars = host.length + ITEM_CHARS + (failures ? FAILURES_CHARS : 0);
    if (mark < 0) return { item: { ...about, from: 0, to: 0, events: [] }, itemChars };
    // Longer than that no member is sent anything again: it is a member no more.
    const arrivesBy = now.mono + this.#settings.suspectAfterMs;
    const read = this.#store.rowEvents(host, mark, room.events, arrivesBy);
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

  /** Gives the hosts of which the peer now has more. */
  onRowsAck(from: Member, message: RowsAck, now: Instant): Host[] {
    const { id } = from.card;
    const stream = this.#streams.get(id);
    if (message.number > this.#lastNumber) {
      this.#refused.refuse(id, 'rows-ack', 'no such rows were sent', now);
      return [];
    }
    if (!stream || stream.flight?.message.number !== message.number) return [];
    if (message.gen < stream.gen) {
      this.#takeBack(stream);
      return [];
    }
    const sent = new Map(stream.flight.message.items.map((item) => [item.host, item]));
    stream.flight = null;
    const progressed: Host[] = [];
    for (const { host, mark } of message.items) {
      const item = sent.get(host);
      const wrong = this.#wrongMark(item, mark);
      if (wrong !== null) this.#refused.refuse(id, 'rows-ack', wrong, now);
      else if (this.#noteMark(host, id, message.gen, mark)) progressed.push(host);
      if (!item) continue;
      const isRefused = wrong !== null || (item.events.length > 0 && mark === item.from);
      if (this.#isFor(host, id) && !this.isCaughtUp(host, id)) {
        if (isRefused) {
          stream.later.set(host, now.mono + resendAfterMs(this.#settings));
          if (this.#view.owner(host) === id) this.#handOff.listToOwner(host, id, now);
        } else stream.due.add(host);
      }
      this.#trim(host);
    }
    return progressed;
  }

  /** Why no peer can have the host up to this number of mine; null: it may. */
  #wrongMark(item: RowsItem | undefined, mark: number): string | null {
    if (!item) return 'it names a host of which no rows were sent';
    const highest = this.#store.counter();
    return mark > highest ? `its mark ${mark} is above the last number given, ${highest}` : null;
  }

  /** The answer to the one message on its way is never older than what is known (C4). */
  #noteMark(host: Host, id: AgentId, gen: number, mark: number): boolean {
    const marks = this.#acked.get(host) ?? new Map<AgentId, Acked>();
    this.#acked.set(host, marks);
    const known = marks.get(id);
    marks.set(id, { gen, mark });
    return known === undefined || gen !== known.gen || mark > known.mark;
  }

  /** Events that everybody has need not be kept at hand. */
  #trim(host: Host): void {
    const receivers = [...this.targets(host), ...this.#handOff.addressees(host)];
    let least = Infinity;
    for (const id of receivers) least = Math.min(least, Math.max(0, this.#markOf(host, id)));
    if (least !== Infinity) this.#store.trimRowEvents(host, least);
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
