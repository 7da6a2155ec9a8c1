// What the operator has ordered for the whole cluster while it runs: pause, hosts that are blocked,
// delays of single hosts. Small replicated state: each order is a register of its own, the later
// word on it wins (by counter, then by agent), so that copies can be merged in any order and any
// number of times. Every agent has all of them, in its file too; heartbeats carry a digest, and who
// differs is sent the lot. Pure; `operator.ts` says what a change of them sets in motion.

import type { AgentId, Host, Order } from './messages.ts';

/** Where orders outlive the process. Within the turn's transaction. */
export interface OrderStore {
  orders(): Order[];
  /** In place of an earlier one of the same kind and host. */
  saveOrder(order: Order): void;
}

/** Of these an agent takes no more: all of them travel in one message. */
export const ORDERS_MAX = 2000;

export class Orders {
  readonly #me: AgentId;
  readonly #configuredMs: (host: Host) => number;
  readonly #store: OrderStore;
  readonly #digest: (text: string) => string;
  readonly #known = new Map<string, Order>();
  #hash: string | null = null;

  constructor(parts: {
    readonly id: AgentId;
    readonly delayMs: (host: Host) => number;
    readonly store: OrderStore;
    readonly digest: (text: string) => string;
  }) {
    this.#me = parts.id;
    this.#configuredMs = parts.delayMs;
    this.#store = parts.store;
    this.#digest = parts.digest;
    for (const order of parts.store.orders()) this.#known.set(keyOf(order), order);
  }

  get paused(): boolean {
    return this.#value('pause', '') !== null;
  }

  /** The latest round that was ordered; 0: none but the first. */
  get round(): number {
    return this.#value('refresh', '') ?? 0;
  }

  /** No request may be made to the host. */
  blocks(host: Host): boolean {
    return this.#value('block', host) !== null;
  }

  /** The politeness delay of the host: as ordered, else as configured. */
  delayOf(host: Host): number {
    return this.#value('delay', host) ?? this.#configuredMs(host);
  }

  #value(kind: Order['kind'], host: Host): number | null {
    return this.#known.get(keyOf({ kind, host }))?.value ?? null;
  }

  /** A new order, later than all that are known here; null: there are too many. */
  give(order: Pick<Order, 'kind' | 'host' | 'value'>): Order | null {
    if (this.#known.size >= ORDERS_MAX && !this.#known.has(keyOf(order))) return null;
    let last = 0;
    for (const { n } of this.#known.values()) last = Math.max(last, n);
    const given = { ...order, n: last + 1, by: this.#me };
    this.#keep(given);
    return given;
  }

  /** Takes over what is later than what is known; gives those that changed something. */
  merge(orders: readonly Order[]): Order[] {
    const later = orders.filter((order) => {
      const known = this.#known.get(keyOf(order));
      if (known && !isLater(order, known)) return false;
      this.#keep(order);
      return true;
    });
    return later;
  }

  #keep(order: Order): void {
    this.#known.set(keyOf(order), order);
    this.#store.saveOrder(order);
    this.#hash = null;
  }

  all(): readonly Order[] {
    return [...this.#known.values()];
  }

  /** Equal exactly where the same orders are known; empty where there are none. */
  hash(): string {
    if (this.#known.size === 0) return '';
    this.#hash ??= this.#digest(
      this.all()
        .map(({ kind, host, value, n, by }) => JSON.stringify([kind, host, value, n, by]))
        .sort()
        .join(' '),
    );
    return this.#hash;
  }
}

function keyOf({ kind, host }: Pick<Order, 'kind' | 'host'>): string {
  return `${kind} ${host}`;
}

/** A total order: two agents that hear the same words always end with the same one. */
function isLater(a: Order, b: Order): boolean {
  if (a.n !== b.n) return a.n > b.n;
  // The value counts only after a disk was set back, when an agent may give a number twice.
  return a.by !== b.by ? a.by > b.by : (a.value ?? -1) > (b.value ?? -1);
}
