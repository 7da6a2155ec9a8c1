// The known agents with their addresses, and the HELLO messages to them. An answer to a HELLO
// repeats its greeting, a keyed digest of the addressee and its address, which no other agent can
// know.

import type { AgentId, Message } from '../protocol/messages.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Outbound } from './outbound.ts';
import type { View } from './view.ts';

type Hello = Extract<Message, { type: 'HELLO' }>;

/** Maximum length of each text of another agent in a refusal. */
const SHOWN_CHARS_MAX = 500;

export class Greetings {
  readonly #settings: CoreSettings;
  readonly #outbound: Pick<Outbound, 'inc'>;
  readonly #view: Pick<View, 'has'>;
  /** By identifier. Over the limit, `remember` drops one that is not in the config or the view. */
  readonly #addresses = new Map<AgentId, string>();

  constructor(settings: CoreSettings, outbound: Pick<Outbound, 'inc'>, view: Pick<View, 'has'>) {
    this.#settings = settings;
    this.#outbound = outbound;
    this.#view = view;
    for (const peer of settings.configured) this.remember(peer.id, peer.address);
  }

  remember(id: AgentId, address: string): void {
    if (id === this.#settings.id || address === '') return;
    this.#addresses.set(id, address);
    const { configured, bounds } = this.#settings;
    if (this.#addresses.size <= configured.length + bounds.unconfigured) return;
    const isOver = (known: AgentId) => !this.#view.has(known) && !this.isInConfig(known);
    const over = [...this.#addresses.keys()].find(isOver);
    if (over !== undefined) this.#addresses.delete(over);
  }

  /** The agent has left, so it gets no more heartbeats. */
  forget(id: AgentId): void {
    if (!this.isInConfig(id)) this.#addresses.delete(id);
  }

  isInConfig(id: AgentId): boolean {
    return this.#settings.configured.some((peer) => peer.id === id);
  }

  isKnown(id: AgentId): boolean {
    return this.#addresses.has(id);
  }

  addressOf(id: AgentId): string | undefined {
    return this.#addresses.get(id);
  }

  addresses(): Iterable<readonly [AgentId, string]> {
    return this.#addresses;
  }

  /**
   * The HELLO has no greeting if only another agent has named the address.
   *
   * @param n - the counter of the database
   */
  helloTo(to: { id: AgentId; address: string }, n: number): Hello {
    const { capacity, address, fingerprint } = this.#settings;
    const hello: Hello = { type: 'HELLO', capacity, address, fingerprint, n };
    if (this.#addresses.get(to.id) !== to.address) return hello;
    return { ...hello, greeting: this.#of(to.id, to.address) };
  }

  /** Whether the greeting is that of a HELLO from this incarnation to that agent. */
  isOf(id: AgentId, greeting: string | undefined): boolean {
    const address = this.#addresses.get(id);
    return address !== undefined && greeting === this.#of(id, address);
  }

  #of(id: AgentId, address: string): string {
    const { digest, proofKey } = this.#settings;
    return digest(`${proofKey} greeting ${id} ${address} ${this.#outbound.inc}`);
  }
}

/** The error with which this agent exits after a REFUSED. */
export function refusalText(from: AgentId, refused: Extract<Message, { type: 'REFUSED' }>): string {
  const path = readable(refused.path);
  if (refused.theirs === '') return `agent ${from} refused this one: ${path}`;
  return (
    `agent ${from} refused this one: ${path} is ${readable(refused.yours)} here and ` +
    `${readable(refused.theirs)} there; give all agents of a cluster the same configuration`
  );
}

/** A text of another agent, made safe for a terminal. */
function readable(text: string): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '\uFFFD');
  return plain.length > SHOWN_CHARS_MAX ? `${plain.slice(0, SHOWN_CHARS_MAX)}…` : plain;
}
