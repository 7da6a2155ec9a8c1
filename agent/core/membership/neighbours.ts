// Connects the overlay of a partial view to the other agents (docs/OVERLAY.md): sends its messages,
// hands it those that arrive, and stops to watch members that need not be known any more.

import type { Instant } from '../../../failure-detector/instant.ts';
import { assertNever } from '../protocol/assert-never.ts';
import type { Directives } from '../protocol/directives.ts';
import type { AgentId, Envelope, Host, MemberCard, Message } from '../protocol/messages.ts';
import type { OverlayMessage } from '../protocol/overlay-messages.ts';
import type { Part } from '../protocol/part.ts';
import { IDENTIFIERS_MAX, putLatest } from '../protocol/put-latest.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import { TAKEN_FROM } from './gate.ts';
import type { Membership } from './membership.ts';
import type { Outbound } from './outbound.ts';
import type { AgentState, ContactMessage, Overlay, Sender } from './overlay.ts';
import type { View } from './view.ts';

type Relay = Extract<Message, { type: 'RELAY' }>;

/** Look-ups at a time of owners that must get rows. */
const SOUGHT_MAX = 16;

interface NeighboursParts {
  readonly settings: Pick<CoreSettings, 'id' | 'suspectAfterMs' | 'bounds'>;
  readonly directives: Pick<Directives, 'hash'>;
  readonly contacts: {
    asked(address: string, now: Instant): void;
    heard(from: Sender, message: ContactMessage, now: Instant): void;
    reset(): void;
  };
  readonly overlay: Overlay;
  readonly view: View;
  readonly outbound: Outbound;
  readonly membership: Pick<Membership, 'part' | 'greetOne'>;
  readonly handOff: {
    /** Whether a list to or from the agent is not finished. */
    isWith(id: AgentId): boolean;
    /** The members that owe a list. */
    debtors(): Iterable<readonly [AgentId, ReadonlySet<AgentId>]>;
    listToOwner(host: Host, owner: AgentId, now: Instant): void;
    /** Hosts with rows here whose owner is not in view. */
    readonly unplaced: { next(count: number): readonly Host[]; delete(host: Host): void };
  };
  /** The preference lists have changed although the members have not. */
  readonly moved: (now: Instant) => void;
  /** The owners of these hosts outside the view have been found. */
  readonly located: (hosts: readonly Host[]) => void;
}

export class Neighbours implements Part {
  readonly #p: NeighboursParts;
  #soughtAt = -Infinity;
  /** When the found owner of a host was first greeted. Bound: `IDENTIFIERS_MAX`. */
  readonly #greetedAt = new Map<Host, number>();

  constructor(parts: NeighboursParts) {
    this.#p = parts;
  }

  reset(): void {
    this.#p.contacts.reset();
    this.#greetedAt.clear();
  }

  pump(now: Instant): void {
    const { overlay, outbound, view, membership } = this.#p;
    if (!overlay.isPartial) return;
    const { isMoved, greet, asks, pings, located } = overlay.pump(now);
    for (const peer of greet) membership.greetOne(peer);
    for (const { to, message } of asks) {
      const member = view.get(to);
      if (member) outbound.toMember(member, message);
    }
    for (const { to, message } of pings) {
      this.#p.contacts.asked(to.address, now);
      outbound.toAddress(to, this.#withDirectives(message));
    }
    if (located.length > 0) this.#p.located(located);
    if (isMoved) this.#p.moved(now);
    this.#meetOwners(now);
    this.#partWithSpare(now);
  }

  /**
   * Greets the owners of hosts that this agent has rows of, so that they can get the rows. An owner
   * may have become a member before, when this agent took another one for the nearest.
   */
  #meetOwners(now: Instant): void {
    const { mono } = now;
    const { settings, overlay, view, handOff, membership } = this.#p;
    if (mono - this.#soughtAt < settings.suspectAfterMs / 2) return;
    this.#soughtAt = mono;
    let left = SOUGHT_MAX;
    for (const host of handOff.unplaced.next(settings.bounds.hostsPerTurn)) {
      const owner = view.owner(host);
      if (owner === settings.id) handOff.unplaced.delete(host);
      if (owner !== undefined || left-- <= 0) continue;
      const found = overlay.find(host);
      if (!found) continue;
      const since = this.#greetedAt.get(host) ?? mono;
      if (view.has(found.id) && view.probableOwner(host) === found.id) {
        handOff.listToOwner(host, found.id, now);
      } else if (view.has(found.id) || mono - since >= settings.suspectAfterMs) {
        // An agent that does not become a member may have ended.
        overlay.notThere(host);
      } else {
        putLatest(this.#greetedAt, host, since, IDENTIFIERS_MAX);
        membership.greetOne(found);
        continue;
      }
      this.#greetedAt.delete(host);
    }
  }

  #withDirectives(message: Message): Message {
    switch (message.type) {
      case 'PING':
      case 'FIND_NODE':
      case 'FOUND_NODES':
        return { ...message, orders: this.#p.directives.hash() };
      default:
        return message;
    }
  }

  /** Stops to watch members that neither need this agent nor are needed by it. */
  #partWithSpare(now: Instant): void {
    const { view, overlay, handOff, membership } = this.#p;
    for (const member of [...view.members()]) {
      if (member.leaving || !overlay.isSpare(member)) continue;
      if (!handOff.isWith(member.card.id)) membership.part(member, now);
    }
  }

  onMessage(from: Envelope['from'], message: OverlayMessage, now: Instant): void {
    const { overlay, outbound, view } = this.#p;
    switch (message.type) {
      case 'PING':
      case 'FIND_NODE':
      case 'FOUND_NODES': {
        const answer = overlay.onContact(from, message, now);
        const to = { ...from, address: message.address };
        if (answer) outbound.toAddress(to, this.#withDirectives(answer));
        return this.#p.contacts.heard(from, message, now);
      }
      case 'TREE_TOLD':
      case 'TREE_ASK':
      case 'TREE_DONE':
        return this.#answer(this.cardOf(from), (card) =>
          overlay.tree.onMessage(card, message, now.mono),
        );
      case 'REGION_ASK':
      case 'REGION_TOLD': {
        const member = view.get(from.id);
        if (member) this.#answer(member.card, () => overlay.onRegion(member, message, now));
        return;
      }
      default:
        assertNever(message);
    }
  }

  /**
   * Forwards a message for another agent if its origin sent it. Returns one for this agent. An agent
   * outside the view relays only for others outside it, and nothing that concerns the view.
   */
  onRelay(from: Envelope['from'], relay: Relay, now: Instant): Envelope | null {
    const { overlay, outbound, view } = this.#p;
    const { envelope, sender, origin, to } = relay;
    if (to !== view.me) {
      const card = view.get(to)?.card ?? overlay.met(to);
      if (card && origin === from.id) outbound.passOn(card, relay);
      return null;
    }
    const { type } = envelope.message;
    if (type === 'RELAY') return null;
    if (!view.has(from.id) && (view.has(origin) || TAKEN_FROM[type] !== 'correspondent'))
      return null;
    if (view.has(origin)) return envelope;
    const via = this.cardOf(from);
    if (sender && via) overlay.meet({ ...envelope.from, ...sender }, now, via);
    return envelope;
  }

  #answer(card: MemberCard | null, answerOf: (card: MemberCard) => Message | null): void {
    const answer = card && answerOf(card);
    if (answer) this.#p.outbound.toCard(card, answer);
  }

  /** The sender of a message that the gate has admitted; null: it is not known any more. */
  cardOf(from: Envelope['from']): MemberCard | null {
    const card = this.#p.view.get(from.id)?.card;
    return card?.inc === from.inc ? card : this.#p.overlay.met(from.id);
  }

  /** Called with each heartbeat of this agent. */
  beat(me: AgentState, now: Instant): void {
    const { overlay, outbound, view, handOff } = this.#p;
    if (!overlay.isPartial) return;
    const stateOf = (id: AgentId) => {
      const member = view.get(id);
      const last = member?.lastHeartbeat;
      return member && last ? { ...last, id, inc: member.card.inc } : null;
    };
    const sends = overlay.tree.survey(me, stateOf, now.mono);
    for (const { to, message } of sends) outbound.toCard(to, message);
    // A member may not know that this agent stopped to watch it and has added it again.
    for (const [id, leavers] of handOff.debtors()) {
      const member = view.get(id);
      if (member) outbound.toMember(member, { type: 'LIST_ASK', leavers: [...leavers] });
    }
  }
}
