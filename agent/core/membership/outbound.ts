// Sends all messages of the core. Adds the envelope with both incarnations. If it is not known that
// messages reach a member directly, also sends them over a relay: a third agent, once, best effort.

import type { Effects } from '../protocol/effects.ts';
import type { AgentId, Envelope, Incarnation, MemberCard, Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Overlay } from './overlay.ts';
import type { Member, View } from './view.ts';

type SendOptions = { readonly durable?: boolean };
type Relay = Extract<Message, { type: 'RELAY' }>;

const BULK: ReadonlySet<Message['type']> = new Set([
  'URLS',
  'KNOWN',
  'LIST',
  'ROBOTS_ASK',
  'ROBOTS_TOLD',
]);

export class Outbound {
  inc: Incarnation = 0;
  readonly #settings: CoreSettings;
  readonly #effects: Effects;
  readonly #view: View;
  readonly #overlay: Pick<Overlay, 'via'>;
  #configured: ReadonlyMap<AgentId, string> | null = null;

  constructor(settings: CoreSettings, effects: Effects, view: View, overlay: Pick<Overlay, 'via'>) {
    this.#settings = settings;
    this.#effects = effects;
    this.#view = view;
    this.#overlay = overlay;
  }

  /** Sends a message to a member; with `durable`, only after the next commit is on disk. */
  toMember(member: Member, message: Message, options: SendOptions = {}): void {
    const { card } = member;
    const envelope = this.#envelope(card.id, card.inc, message);
    if (!member.hearsMe) this.#relay(member, envelope, options.durable ?? false);
    this.#push(card, envelope, options.durable ?? false);
  }

  /** Sends a message to an agent that need not be in view. */
  toCard(card: MemberCard, message: Message, options: SendOptions = {}): void {
    const member = this.#view.get(card.id);
    if (member?.card.inc === card.inc) return this.toMember(member, message, options);
    const envelope = this.#envelope(card.id, card.inc, message);
    const durable = options.durable ?? false;
    const via = this.#overlay.via(card.id);
    if (via) {
      const { capacity, address } = this.#settings;
      this.#pushOver(via, card.id, { envelope, sender: { capacity, address } }, durable);
    }
    this.#push(card, envelope, durable);
  }

  /**
   * Sends a message to an address, at which the incarnation may be unknown. Only members of the
   * view and agents of the config, at their addresses there, get a permanent link: any other
   * address is an unproved claim, and may be that of a member.
   */
  toAddress(to: { id: AgentId; address: string; inc?: Incarnation }, message: Message): void {
    // The path could be any socket file of this machine, so only configured ones are connected to.
    if (to.address.startsWith('ipc:') && !this.isConfigured(to)) return;
    const isBelieved = this.#view.get(to.id)?.card.address === to.address || this.isConfigured(to);
    this.#push(to, this.#envelope(to.id, to.inc ?? 0, message), false, !isBelieved);
  }

  /** Whether the config has this agent at this address. */
  isConfigured({ id, address }: { id: AgentId; address: string }): boolean {
    this.#configured ??= new Map(this.#settings.configured.map((peer) => [peer.id, peer.address]));
    return this.#configured.get(id) === address;
  }

  /** Forwards a RELAY to its destination, only directly. */
  passOn(to: MemberCard, relay: Message): void {
    this.#push(to, this.#envelope(to.id, to.inc, relay), false);
  }

  #relay(member: Member, envelope: Envelope, durable: boolean): void {
    const via = this.#relayFor(member, envelope.message.type);
    if (via) this.#pushOver(via.card, member.card.id, { envelope }, durable);
  }

  #pushOver(
    via: MemberCard,
    to: AgentId,
    what: Pick<Relay, 'envelope' | 'sender'>,
    durable: boolean,
  ): void {
    const relay: Relay = { type: 'RELAY', origin: this.#settings.id, to, ...what };
    this.#push(via, this.#envelope(via.id, via.inc, relay), durable);
  }

  /**
   * Chooses a member that hears this agent directly. Prefers one that the destination hears
   * directly, then one that hears the destination. Equal candidates take turns, because it is not
   * known which of them gets through. Turns are counted for each type of message: otherwise types
   * that alternate would always use the same relay each.
   */
  #relayFor(member: Member, type: Message['type']): Member | undefined {
    let best: Member[] = [];
    let most = -1;
    for (const via of this.#view.members()) {
      if (via === member || !via.hearsMe || via.unechoed) continue;
      const promise = promiseOf(via, member);
      if (promise > most) best = [];
      most = Math.max(most, promise);
      if (promise === most) best.push(via);
    }
    const turn = member.relays.get(type) ?? 0;
    member.relays.set(type, turn + 1);
    return best[turn % best.length];
  }

  #envelope(id: AgentId, inc: Incarnation, message: Message): Envelope {
    return { from: { id: this.#settings.id, inc: this.inc }, to: { id, inc }, message };
  }

  #push(
    to: { id: AgentId; address: string },
    envelope: Envelope,
    durable: boolean,
    brief = false,
  ): void {
    this.#effects.push({
      type: 'send',
      to: { id: to.id, address: to.address },
      envelope,
      lane: BULK.has(envelope.message.type) ? 'bulk' : 'control',
      durable,
      ...(brief && { brief }),
    });
  }
}

/** Scores a relay `via` to `to`, from 0 to 3, by the last heartbeats of both. */
function promiseOf(via: Member, to: Member): number {
  const hears = (a: Member, b: Member) => a.lastHeartbeat?.news.get(b.card.id)?.direct ?? false;
  // The last heartbeat of a member without recent ones is out of date.
  const isHeard = !to.silent && hears(to, via);
  return 2 * Number(isHeard) + Number(hears(via, to));
}
