// Host state at t+1 agents (DESIGN section 6; PROTOCOL rules 9, 11 and 13): the rows of each host
// are streamed, in the order of their numbers, to the host's backups if this agent owns it, and to
// the addressee of a list before the host is yielded. A backup keeps a mark in the transaction that
// applied the rows; it is learned by asking, in each incarnation, never remembered. One message a
// peer is on its way at a time, with the rows of many hosts. What was acknowledged by whom decides
// what may be acknowledged to others (`isSafe`), so nothing here is lost with its sender. A copy may
// be deleted by the word of another owner: whenever the host may have had one, its marks are asked
// for again (docs/adr/0017).

import type { Instant } from '../../failure-detector/instant.ts';
import type { AgentId, Host, Message, PageRow, RowEvent, RowsItem } from './messages.ts';
import type { Outbound } from './outbound.ts';
import { type CoreSettings, resendAfterMs } from './settings.ts';
import type { Store } from './store.ts';
import type { Member, View } from './view.ts';

/** Characters of the texts of one ROWS. */
const ROWS_CHARS_MAX = 128 * 1024;

/** What an event, and a host, cost in a frame beside their longest texts. */
const EVENT_CHARS = 120;
const ITEM_CHARS = 80;
/** Hosts whose streams are looked at in one turn. */
const HOSTS_PER_TURN = 4000;

type Rows = Extract<Message, { type: 'ROWS' }>;
type RowsAck = Extract<Message, { type: 'ROWS_ACK' }>;

interface Acked {
  gen: number;
  mark: number;
}

/** What goes to one peer: hosts that have something for it, and the message on its way. */
interface Stream {
  readonly due: Set<Host>;
  /** The highest generation of its copies that the peer told in a heartbeat. */
  gen: number;
  /** When its marks were last forgotten for that. */
  doubtedAt: number;
  flight: { readonly message: Rows; sentAt: number } | null;
}

export class Replication {
  readonly #settings: CoreSettings;
  readonly #store: Store;
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #acked = new Map<Host, Map<AgentId, Acked>>();
  readonly #streams = new Map<AgentId, Stream>();
  /** Hosts whose streams must be looked at again, since the view or their rows have changed. */
  readonly #changed = new Set<Host>();
  /** Members that are to get all rows of a host, though they are not its backups yet. */
  readonly #addressees: (host: Host) => Iterable<AgentId>;
  #lastNumber = 0;

  constructor(parts: {
    settings: CoreSettings;
    store: Store;
    view: View;
    outbound: Outbound;
    addressees: (host: Host) => Iterable<AgentId>;
  }) {
    this.#settings = parts.settings;
    this.#store = parts.store;
    this.#view = parts.view;
    this.#outbound = parts.outbound;
    this.#addressees = parts.addressees;
  }

  reset(): void {
    this.#acked.clear();
    this.#streams.clear();
    this.#changed.clear();
  }

  forget(id: AgentId): void {
    this.#streams.delete(id);
    for (const acked of this.#acked.values()) acked.delete(id);
  }

  forgetHost(host: Host): void {
    this.#acked.delete(host);
  }

  // ---- doubt: marks that may not be true any more are asked for anew

  /** Hosts have come from a member that lost its place: it may have let others delete copies. */
  doubtAll(): void {
    for (const host of this.#acked.keys()) this.#changed.add(host);
    this.#acked.clear();
    for (const stream of this.#streams.values()) this.#takeBack(stream);
  }

  /** Another yields the host, so there was another owner. */
  doubt(host: Host): void {
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
    if (gen <= stream.gen || now.mono - stream.doubtedAt < this.#settings.suspectAfterMs) return;
    stream.gen = gen;
    stream.doubtedAt = now.mono;
    for (const [host, acked] of this.#acked) {
      if ((acked.get(id)?.gen ?? gen) >= gen) continue;
      acked.delete(id);
      this.#changed.add(host);
    }
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
    const acked = this.#acked.get(host)?.get(to);
    return acked !== undefined && acked.mark >= this.#store.lastNumber(host);
  }

  #markOf(host: Host, id: AgentId): number {
    return this.#acked.get(host)?.get(id)?.mark ?? -1;
  }

  get isQuiet(): boolean {
    if (this.#changed.size > 0 || this.#store.hasChangedHosts()) return false;
    for (const stream of this.#streams.values()) {
      if (stream.due.size > 0 || stream.flight) return false;
    }
    return true;
  }

  /** Hosts that have something to send to a peer, for `status`: the lag of the copies. */
  lag(): number {
    let hosts = this.#changed.size;
    for (const { due, flight } of this.#streams.values()) {
      hosts += due.size + (flight?.message.items.length ?? 0);
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
    let left = HOSTS_PER_TURN;
    for (const host of this.#changed) {
      if (left-- === 0) break;
      this.#changed.delete(host);
      this.#distribute(host);
    }
    for (const [id, stream] of this.#streams) {
      const member = this.#view.get(id);
      if (!member) {
        this.#streams.delete(id);
        continue;
      }
      if (stream.flight) this.#resend(member, stream.flight, now);
      else if (stream.due.size > 0) this.#send(member, stream, now);
    }
  }

  #distribute(host: Host): void {
    const to = new Set(this.#addressees(host));
    if (this.#view.owns(host)) for (const id of this.targets(host)) to.add(id);
    for (const id of to) {
      if (!this.#view.has(id) || this.isCaughtUp(host, id)) continue;
      this.#streamTo(id).due.add(host);
    }
  }

  #streamTo(id: AgentId): Stream {
    let stream = this.#streams.get(id);
    if (!stream) {
      stream = { due: new Set(), gen: 0, doubtedAt: -Infinity, flight: null };
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
    for (const addressee of this.#addressees(host)) if (addressee === id) return true;
    return false;
  }

  /** The next events above the peer's mark; none at all where the mark is still to be learned. */
  #itemOf(
    host: Host,
    id: AgentId,
    room: { events: number; chars: number },
    now: Instant,
  ): { item: RowsItem; itemChars: number } {
    const acked = this.#acked.get(host)?.get(id);
    const backoffMs = Math.max(0, this.#store.backoffUntil(host) - now.mono);
    const delayMs = this.#store.delayOf(host);
    const { busy, stale } = this.#store.countsOf(host);
    const counts = { ...(busy > 0 && { busy }), ...(stale > 0 && { stale }) };
    const about = { host, version: this.#store.counter(), backoffMs, delayMs, ...counts };
    const itemChars = host.length + ITEM_CHARS;
    if (!acked) return { item: { ...about, from: 0, to: 0, events: [] }, itemChars };
    // Longer than that no member is sent anything again: it is a member no more.
    const arrivesBy = now.mono + this.#settings.suspectAfterMs;
    const read = this.#store.rowEvents(host, acked.mark, room.events, arrivesBy);
    let chars = itemChars;
    let taken = 0;
    for (const event of read.events) {
      chars += charsOf(event);
      if (taken > 0 && chars > room.chars) break;
      taken++;
    }
    const events = read.events.slice(0, taken);
    const to = taken === read.events.length ? read.to : events.at(-1)!.n;
    return { item: { ...about, from: acked.mark, to, events }, itemChars: chars };
  }

  /** Rows of a peer: applied in order, the mark told after the commit that wrote them. */
  onRows(from: Member, message: Rows, now: Instant): Host[] {
    const items: { host: Host; mark: number }[] = [];
    const touched: Host[] = [];
    for (const item of message.items) {
      const owned = this.#view.owns(item.host);
      const { mark, changed } = this.#store.applyRows(from.card.id, item, owned, now.mono);
      items.push({ host: item.host, mark });
      if (changed) touched.push(item.host);
    }
    const gen = this.#store.generation();
    const ack: RowsAck = { type: 'ROWS_ACK', number: message.number, gen, items };
    this.#outbound.toMember(from, ack, { durable: true });
    return touched;
  }

  /** Gives the hosts of which the peer now has more. */
  onRowsAck(from: Member, message: RowsAck): Host[] {
    const { id } = from.card;
    const stream = this.#streams.get(id);
    if (!stream || stream.flight?.message.number !== message.number) return [];
    if (message.gen < stream.gen) {
      this.#takeBack(stream);
      return [];
    }
    stream.flight = null;
    const progressed: Host[] = [];
    for (const { host, mark } of message.items) {
      if (this.#noteMark(host, id, message.gen, mark)) progressed.push(host);
      if (this.#isFor(host, id) && !this.isCaughtUp(host, id)) stream.due.add(host);
      this.#trim(host);
    }
    return progressed;
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
    const marks = this.#acked.get(host);
    const receivers = [...this.targets(host), ...this.#addressees(host)];
    let least = Infinity;
    for (const id of receivers) least = Math.min(least, marks?.get(id)?.mark ?? 0);
    if (least !== Infinity) this.#store.trimRowEvents(host, least);
  }
}

function charsOf(event: RowEvent): number {
  if (event.kind === 'robots') {
    return event.origin.length + (event.body?.length ?? 0) + event.reason.length + EVENT_CHARS;
  }
  const texts =
    event.kind === 'found'
      ? (event.fetchUrl?.length ?? 0) + (event.referrer?.length ?? 0)
      : pageChars(event.kind === 'done' ? event.page : event.former);
  return event.key.length + texts + EVENT_CHARS;
}

function pageChars(page: PageRow | undefined): number {
  const { redirectTo, contentType, canonical, warcFile, etag, originalUrl } = page ?? {};
  const texts = [redirectTo, contentType, canonical, warcFile, etag, originalUrl];
  return texts.reduce<number>((sum, text) => sum + (text?.length ?? 0), 0);
}
