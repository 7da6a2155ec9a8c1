// Exchanges directives with agents outside the view (docs/OVERLAY.md, rule 11): the views of agents
// may form groups that do not touch. All directives are far larger than the message that shows a
// difference, and have effect everywhere. So they are sent to, and accepted from, only contacts that
// have answered at their address. Two contacts ask each other, and then send their directives.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { ContactMessage, Sender } from '../membership/overlay.ts';
import type { Directives } from '../protocol/directives.ts';
import type { AgentId, Incarnation, Message } from '../protocol/messages.ts';
import { putLatest } from '../protocol/put-latest.ts';
import type { CoreSettings } from '../protocol/settings.ts';

interface ContactDirectivesParts {
  readonly settings: Pick<
    CoreSettings,
    'capacity' | 'address' | 'fingerprintHash' | 'heartbeatMs' | 'suspectAfterMs'
  >;
  readonly directives: Pick<Directives, 'hash' | 'all'>;
  readonly outbound: Pick<Outbound, 'toAddress'>;
}

interface Exchange {
  readonly inc: Incarnation;
  /** It has answered a question of this agent. */
  answers: boolean;
  /** It has asked this agent, and so has its answer. */
  asks: boolean;
}

/** Contacts and addresses that are remembered; the oldest are dropped. */
const CONTACTS_MAX = 4096;

export class ContactDirectives {
  readonly #p: ContactDirectivesParts;
  readonly #exchanges = new Map<AgentId, Exchange>();
  /** By address: when it was asked, and when directives were sent there. */
  readonly #askedAt = new Map<string, number>();
  readonly #sentAt = new Map<string, number>();

  constructor(parts: ContactDirectivesParts) {
    this.#p = parts;
  }

  /** A new incarnation begins, which no contact knows. */
  reset(): void {
    this.#exchanges.clear();
    this.#askedAt.clear();
  }

  /** Whether this incarnation has answered at its address. */
  hasAnswered({ id, inc }: Sender): boolean {
    const exchange = this.#exchanges.get(id);
    return exchange?.inc === inc && exchange.answers;
  }

  /** A question is sent to the address. */
  asked(address: string, now: Instant): void {
    putLatest(this.#askedAt, address, now.mono, CONTACTS_MAX);
  }

  /** A contact has sent a message; a question is answered by now. */
  heard({ id, inc }: Sender, message: ContactMessage, now: Instant): void {
    const { directives, settings } = this.#p;
    const { address, orders } = message;
    const last = this.#exchanges.get(id);
    const exchange = last?.inc === inc ? last : { inc, answers: false, asks: false };
    putLatest(this.#exchanges, id, exchange, CONTACTS_MAX);
    const isQuestion = 'answer' in message ? !message.answer : message.type === 'FIND_NODE';
    const isRecent = (at: number | undefined, ms: number) => now.mono - (at ?? -Infinity) < ms;
    const askedAt = this.#askedAt.get(address);
    if (isQuestion) exchange.asks = true;
    else if (isRecent(askedAt, settings.suspectAfterMs)) exchange.answers = true;
    if (orders === undefined || orders === directives.hash()) return;
    const to = { id, inc, address };
    if (exchange.answers && exchange.asks) {
      if (!isRecent(this.#sentAt.get(address), settings.suspectAfterMs)) this.#send(to, now);
    } else if (isQuestion && !isRecent(askedAt, settings.heartbeatMs)) this.#ask(to, now);
  }

  #send(to: Sender & { readonly address: string }, now: Instant): void {
    const orders = this.#p.directives.all();
    if (orders.length === 0) return;
    putLatest(this.#sentAt, to.address, now.mono, CONTACTS_MAX);
    this.#p.outbound.toAddress(to, { type: 'ORDERS', orders });
  }

  #ask(to: Sender & { readonly address: string }, now: Instant): void {
    const { capacity, address, fingerprintHash } = this.#p.settings;
    this.asked(to.address, now);
    const me = { capacity, address, fingerprintHash, orders: this.#p.directives.hash() };
    const ping: Message = { type: 'PING', ...me, answer: false };
    this.#p.outbound.toAddress(to, ping);
  }
}
