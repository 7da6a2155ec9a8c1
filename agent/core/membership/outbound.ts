// The one way out for messages of the core: puts the envelope around them, naming both
// incarnations, and relays through a third agent where the direct path to a member is
// not confirmed (one hop, best effort). Called by every other part of the core.

import type { Effects } from '../protocol/effects.ts';
import type { AgentId, Envelope, Incarnation, Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Member, View } from './view.ts';

type SendOptions = { readonly durable?: boolean };

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
  #configured: ReadonlyMap<AgentId, string> | null = null;

  constructor(settings: CoreSettings, effects: Effects, view: View) {
    this.#settings = settings;
    this.#effects = effects;
    this.#view = view;
  }

  /** To a member of the view; with `durable`, only after the next commit on disk. */
  toMember(member: Member, message: Message, options: SendOptions = {}): void {
    const { card } = member;
    const envelope = this.#envelope(card.id, card.inc, message);
    if (!member.hearsMe) this.#relay(member, envelope, options.durable ?? false);
    this.#push(card, envelope, options.durable ?? false);
  }

  /**
   * To an address whose incarnation need not be known (HELLO, WELCOME, REFUSED, HEARTBEAT). A lasting
   * link is for members of the view and for agents of the config, at the addresses that they have
   * there: any other address is the word of a stranger, who may name that of a member as his own.
   */
  toAddress(to: { id: AgentId; address: string; inc?: Incarnation }, message: Message): void {
    // A socket file can be any of this machine: only what the config names is connected to.
    if (to.address.startsWith('ipc:') && !this.isConfigured(to)) return;
    const isBelieved = this.#view.get(to.id)?.card.address === to.address || this.isConfigured(to);
    this.#push(to, this.#envelope(to.id, to.inc ?? 0, message), false, !isBelieved);
  }

  /** Whether the config says that this agent is at this address. */
  isConfigured({ id, address }: { id: AgentId; address: string }): boolean {
    this.#configured ??= new Map(this.#settings.configured.map((peer) => [peer.id, peer.address]));
    return this.#configured.get(id) === address;
  }

  /** Passes a RELAY on to its destination directly: one hop, best effort. */
  passOn(to: Member, relay: Message): void {
    this.#push(to.card, this.#envelope(to.card.id, to.card.inc, relay), false);
  }

  #relay(member: Member, envelope: Envelope, durable: boolean): void {
    const via = this.#relayFor(member, envelope.message.type);
    if (!via) return;
    const origin = this.#settings.id;
    const relay: Message = { type: 'RELAY', origin, to: member.card.id, envelope };
    this.#push(via.card, this.#envelope(via.card.id, via.card.inc, relay), durable);
  }

  /**
   * A member that hears this agent directly; best one that the destination says it hears directly,
   * and then one that hears the destination. Equals take turns, for which of them gets through is
   * not known: whatever told them apart by chance would choose the wrong one for ever. Each type of
   * message has turns of its own, since types that alternate would each have one relay only.
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
    const lane = BULK.has(envelope.message.type) ? 'bulk' : 'control';
    const peer = { id: to.id, address: to.address };
    this.#effects.push({
      type: 'send',
      to: peer,
      envelope,
      lane,
      durable,
      ...(brief && { brief }),
    });
  }
}

/** How likely the way over `via` to `to` is, by what both said last. */
function promiseOf(via: Member, to: Member): number {
  const hears = (a: Member, b: Member) => a.lastHeartbeat?.news.get(b.card.id)?.direct ?? false;
  // What was said before the cut does not count.
  const said = to.silent ? 0 : Number(hears(to, via));
  return 2 * said + Number(hears(via, to));
}
