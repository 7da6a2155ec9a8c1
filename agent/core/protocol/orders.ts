// What the operator has ordered for the whole cluster while it runs: pause, hosts that are blocked,
// delays of hosts. Orders name hosts by patterns as in `scope.hosts`. The state is small and replicated:
// each order is a register of its own, and the later word on it wins (by counter, then by agent), so
// copies can be merged in any order and any number of times. Every agent keeps all orders, in its file
// too. Heartbeats carry a digest, and an agent whose digest differs is sent all of them. Pure;
// `operator.ts` says what a change of them sets in motion.

import { HostPatterns } from '../../url/host-patterns.ts';
import type { AgentId, Host, Order } from './messages.ts';
import { IDENTIFIERS_MAX, putLatest } from './put-latest.ts';

/** Where orders outlive the process. Within the turn's transaction. */
export interface OrderStore {
  orders(): Order[];
  /** In place of an earlier one of the same kind and host; `at`: when it came to this agent. */
  saveOrder(order: Order, at: number): void;
  dropOrder(order: Pick<Order, 'kind' | 'host'>): void;
}

/** An order that holds, and the agents that have it on disk. */
export interface OrderInForce extends Pick<Order, 'kind' | 'host' | 'value' | 'by'> {
  readonly applied: readonly AgentId[];
}

/** Of these an agent takes no more: all of them travel in one message. */
export const ORDERS_MAX = 2000;
/**
 * A round is numbered by the seconds of its giver's clock, and other orders go one above what is known.
 * A number further ahead of the clock here is no honest one, and would outrank all that follow.
 */
const NUMBER_AHEAD_MAX = 7 * 24 * 3600;
/** What goes last where there are too many orders, by the same rule at every agent. */
const RANKS: readonly Order['kind'][] = ['pause', 'refresh', 'block', 'delay'];

/** What came of the orders of one message. */
export interface Merged {
  /** Those that changed something. */
  readonly later: readonly Order[];
  /** Why others were not taken; null: all were. */
  readonly refused: string | null;
}

export class Orders {
  readonly #me: AgentId;
  readonly #configuredMs: (host: Host) => number;
  readonly #store: OrderStore;
  readonly #digest: (text: string) => string;
  readonly #known = new Map<string, Order>();
  /** By order, the agents that are known to have it: this agent first, and the oldest is dropped. */
  readonly #holders = new Map<string, Set<AgentId>>();
  /** The digest under which each agent was noted last. */
  readonly #reached = new Map<AgentId, string>();
  #hash: string | null = null;
  #compiled: ReturnType<typeof compile> | null = null;

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
    for (const order of parts.store.orders()) {
      this.#known.set(keyOf(order), order);
      this.#holders.set(keyOf(order), new Set([parts.id, order.by]));
    }
    this.#trim();
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
    return this.#patterns().block.get(host) !== undefined;
  }

  /** A block of the host, alone or with others, was taken back, and no other is in force. */
  unblocks(host: Host): boolean {
    return !this.blocks(host) && this.#patterns().unblock.get(host) !== undefined;
  }

  /** The politeness delay of the host: as ordered, else as configured. */
  delayOf(host: Host): number {
    return this.#patterns().delay.get(host)?.value ?? this.#configuredMs(host);
  }

  /** The order that still holds for the hosts of an order that was taken back; undefined: none. */
  above({ kind, host }: Pick<Order, 'kind' | 'host'>): Order | undefined {
    if (kind !== 'block' && kind !== 'delay') return undefined;
    // No host has such a label, so only patterns of all subdomains match.
    const subdomain = host.replace(/^\*/, '\0');
    return this.#patterns()[kind].get(subdomain);
  }

  #patterns() {
    this.#compiled ??= compile(this.#known.values());
    return this.#compiled;
  }

  #value(kind: Order['kind'], host: Host): number | null {
    return this.#known.get(keyOf({ kind, host }))?.value ?? null;
  }

  /**
   * A new order, later than all that are known here; null: there are too many.
   *
   * @param at - monotonic milliseconds, as in `merge`
   */
  give(order: Pick<Order, 'kind' | 'host' | 'value'>, at: number): Order | null {
    if (this.#known.size >= ORDERS_MAX && !this.#known.has(keyOf(order))) return null;
    const given = { ...order, n: this.#highest() + 1, by: this.#me };
    this.#keep(given, at);
    return given;
  }

  /**
   * Takes over the orders that are later than the known ones. Beyond `ORDERS_MAX`, every agent drops
   * the same orders, in whatever sequence they came. Otherwise two agents would never agree, and the
   * crawl would never end.
   *
   * @param at - monotonic milliseconds: when they came
   * @param wallMs - by which numbers are judged
   */
  merge(orders: readonly Order[], at: number, wallMs: number): Merged {
    const max = Math.floor(wallMs / 1000) + NUMBER_AHEAD_MAX;
    const later = orders.filter((order) => {
      const known = this.#known.get(keyOf(order));
      if (reachOf(order) > max || (known && !isLater(order, known))) return false;
      this.#known.set(keyOf(order), order);
      return true;
    });
    const isCut = this.#trim();
    const kept = later.filter((order) => this.#known.get(keyOf(order)) === order);
    for (const order of kept) this.#keep(order, at);
    const ahead = Math.max(...orders.map(reachOf));
    if (ahead > max)
      return { later: kept, refused: `${ahead} is far above the number of any order` };
    return { later: kept, refused: isCut ? `there are more than ${ORDERS_MAX} orders` : null };
  }

  /** Whether there were too many. */
  #trim(): boolean {
    if (this.#known.size <= ORDERS_MAX) return false;
    for (const order of this.all().toSorted(byRank).slice(ORDERS_MAX)) {
      this.#known.delete(keyOf(order));
      this.#holders.delete(keyOf(order));
      this.#store.dropOrder(order);
    }
    this.#hash = null;
    this.#compiled = null;
    return true;
  }

  #highest(): number {
    let highest = 0;
    for (const { n } of this.#known.values()) highest = Math.max(highest, n);
    return highest;
  }

  #keep(order: Order, at: number): void {
    this.#known.set(keyOf(order), order);
    this.#holders.set(keyOf(order), new Set([this.#me, order.by]));
    this.#store.saveOrder(order, at);
    this.#hash = null;
    this.#compiled = null;
  }

  /** The agent has said that it knows just these orders. */
  hasAll(id: AgentId): void {
    const hash = this.hash();
    if (this.#reached.get(id) === hash) return;
    putLatest(this.#reached, id, hash, IDENTIFIERS_MAX);
    for (const holders of this.#holders.values()) {
      holders.add(id);
      const [, oldest] = holders;
      if (oldest !== undefined && holders.size > IDENTIFIERS_MAX) holders.delete(oldest);
    }
  }

  /** The latest that are in force, the newest first, with the agents that are known to have them. */
  inForce(max: number): OrderInForce[] {
    const orders = [...this.#known.entries()].filter(([, order]) => isInForce(order));
    orders.sort(([, a], [, b]) => b.n - a.n);
    return orders.slice(0, max).map(([key, { kind, host, value, by }]) => {
      return { kind, host, value, by, applied: [...(this.#holders.get(key) ?? [])].sort() };
    });
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

/** By host pattern: the orders that are in force, and the blocks that were taken back. */
function compile(known: Iterable<Order>) {
  const all = [...known];
  const of = (kind: Order['kind'], holds: boolean) =>
    new HostPatterns(
      all
        .filter((order) => order.kind === kind && (order.value !== null) === holds)
        .map((order) => [order.host, order]),
    );
  return { block: of('block', true), unblock: of('block', false), delay: of('delay', true) };
}

/** The highest number in it: a round far ahead would outrank all later ones, as its number would. */
function reachOf({ kind, value, n }: Order): number {
  return kind === 'refresh' ? Math.max(n, value ?? 0) : n;
}

/** A round is an order too, but none that anybody would take back. */
export function isInForce({ kind, value }: Order): boolean {
  return value !== null && kind !== 'refresh';
}

export function keyOf({ kind, host }: Pick<Order, 'kind' | 'host'>): string {
  return `${kind} ${host}`;
}

/** The higher first. An order only ever rises, so what goes at one agent goes at all. */
function byRank(a: Order, b: Order): number {
  if (a.kind !== b.kind) return RANKS.indexOf(a.kind) - RANKS.indexOf(b.kind);
  if (a.n !== b.n) return b.n - a.n;
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

/** A total order: two agents that hear the same words always end with the same one. */
export function isLater(a: Order, b: Order): boolean {
  if (a.n !== b.n) return a.n > b.n;
  // The value counts only after a disk was set back, when an agent may give a number twice.
  return a.by !== b.by ? a.by > b.by : (a.value ?? -1) > (b.value ?? -1);
}
