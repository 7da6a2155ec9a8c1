// The operator's words as they reach the core: orders given here or heard from others (obeyed at
// once, passed on until all have them) and seeds given while the crawl runs. Whoever gave them is
// told when they are safe: an order in this agent's file, a seed at its owner and that one's
// backups. Doors for the agent's commands; messages and turns come through `core.ts`.

import type { Instant } from '../../../failure-detector/instant.ts';
import { matchesHost } from '../../url/host-patterns.ts';
import type { Routing } from '../exchange/routing.ts';
import type { Completion } from '../lifecycle/completion.ts';
import type { Course, Ending } from '../lifecycle/ending.ts';
import type { Outbound } from '../membership/outbound.ts';
import type { RefusedClaims } from '../membership/refused-claims.ts';
import type { Member, View } from '../membership/view.ts';
import type { Aborts } from '../ownership/aborts.ts';
import type { Store } from '../protocol/core-store.ts';
import type { Effects } from '../protocol/effects.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { AgentId, Host, Order, UrlItem } from '../protocol/messages.ts';
import { ORDERS_MAX, type OrderInForce, type Orders } from '../protocol/orders.ts';
import type { Visits } from '../protocol/visits-port.ts';
import type { Copies } from '../replication/settlement.ts';
import type { Requeues } from './requeues.ts';

/** How long the giver of a seed waits for its owner's word; it is on its way in any case. */
const SEED_ANSWER_MS = 2500;
/** Orders that `status` shows: the newest, as the answer is one message. */
const SHOWN_MAX = 100;
/** Commands with seeds that wait at a time. */
const SEEDS_PENDING_MAX = 64;

/** What became of an order. */
export type OrderReceipt =
  | {
      readonly ok: true;
      readonly order: Order;
      /** Hosts of this agent that it names. */
      readonly hosts: number;
      /** Of a block that was taken back: the pattern that still blocks its hosts. */
      readonly stillBlockedBy?: string;
    }
  | { readonly ok: false; readonly why: string };

/** What became of seeds. */
export type SeedReceipt =
  | { readonly ok: true; readonly owners: Readonly<Record<string, AgentId | null>> }
  | { readonly ok: false; readonly why: string };

interface PendingSeeds {
  readonly items: readonly UrlItem[];
  readonly since: number;
  /** The last outbox entry of theirs, 0 where none was needed. */
  readonly lastId: number;
  /** Hosts of this agent that have some, with the numbers that backups must have. */
  needs: ReadonlyMap<Host, number> | null;
  readonly tell: (receipt: SeedReceipt) => void;
}

export interface OperatorParts {
  readonly orders: Orders;
  readonly store: Store;
  readonly effects: Effects;
  readonly events: EventLog;
  readonly view: View;
  readonly outbound: Outbound;
  readonly routing: Routing;
  readonly copies: Copies;
  readonly completion: Completion;
  readonly visits: Visits;
  readonly requeues: Requeues;
  readonly refused: RefusedClaims;
  readonly hostOf: (url: string) => Host | null;
  readonly ending: Pick<Ending, 'course'>;
  readonly aborts: Pick<Aborts, 'abort'>;
}

export class Operator {
  readonly #p: OperatorParts;
  readonly #seeds: PendingSeeds[] = [];

  constructor(parts: OperatorParts) {
    this.#p = parts;
  }

  /** An order given to this agent: stamped, obeyed, and `tell` called when it is durable. */
  give(
    what: Pick<Order, 'kind' | 'host' | 'value'>,
    now: Instant,
    tell: (receipt: OrderReceipt) => void,
  ): void {
    const order = this.#p.orders.give(what, now.mono);
    if (!order) return tell({ ok: false, why: `there are ${ORDERS_MAX} orders already` });
    this.#obey([order], now);
    this.#receipt(order, tell);
  }

  /** An order stamped by another agent, whose giver waits for `tell`. */
  take(order: Order, now: Instant, tell: (receipt: OrderReceipt) => void): void {
    const { later, refused } = this.#p.orders.merge([order], now.mono, now.wall);
    if (refused !== null) return tell({ ok: false, why: refused });
    this.#obey(later, now);
    this.#receipt(order, tell);
  }

  #receipt(order: Order, tell: (receipt: OrderReceipt) => void): void {
    const { orders, store } = this.#p;
    const hosts = order.host === '' ? 0 : store.hostsNamed(order.host);
    const still = order.kind === 'block' && order.value === null ? orders.above(order) : undefined;
    const receipt = {
      ok: true,
      order,
      hosts,
      ...(still && { stillBlockedBy: still.host }),
    } as const;
    this.#whenDurable(() => tell(receipt));
  }

  onOrders(from: AgentId, orders: readonly Order[], now: Instant): void {
    const { later, refused } = this.#p.orders.merge(orders, now.mono, now.wall);
    if (refused !== null) this.#p.refused.refuse(from, 'orders', refused, now);
    this.#obey(later, now);
  }

  /** The latest orders in force, and which agents are known to have them. */
  get inForce(): readonly OrderInForce[] {
    return this.#p.orders.inForce(SHOWN_MAX);
  }

  /** The digest in a member's heartbeat: what it lacks it is sent, once a heartbeat. */
  heard(member: Member, hash: string): void {
    const { orders, outbound } = this.#p;
    member.orders = hash;
    if (hash === orders.hash()) return orders.hasAll(member.card.id);
    const all = orders.all();
    if (all.length > 0) outbound.toMember(member, { type: 'ORDERS', orders: all });
  }

  /** The write-ahead log of the state file has grown to a size that a person should know of. */
  noteWal(bytes: number, remedy: string, now: Instant): void {
    this.#p.events.record(now.mono, 'wal', { bytes, remedy });
  }

  /** A new round, by the number that all agents are given; heard before, it changes nothing. */
  refresh(round: number, now: Instant): void {
    const by = this.#p.view.me;
    this.onOrders(by, [{ kind: 'refresh', host: '', value: round, n: round, by }], now);
  }

  /** Every member has the same orders: else one could end without a round, or a host unblocked. */
  get isQuiet(): boolean {
    const { orders, view } = this.#p;
    const hash = orders.hash();
    return [...view.members()].every((member) => member.orders === hash);
  }

  #obey(orders: readonly Order[], now: Instant): void {
    const { visits, events, completion, aborts, requeues } = this.#p;
    if (orders.length > 0) completion.activity();
    for (const { kind, host, value, by } of orders) {
      const what = host === '' ? { value, by } : { host, value, by };
      events.record(now.mono, 'order', { order: kind, ...what });
      if (kind === 'refresh') requeues.refresh.begin(value ?? 0);
      if (kind === 'pause' || kind === 'refresh') continue;
      if (host.startsWith('*')) visits.recheckAll(now, (one) => matchesHost(host, one));
      else visits.recheck(host, now);
      if (kind !== 'block') continue;
      if (value === null) {
        requeues.reopening.unblocked(host);
        continue;
      }
      const open = [...visits.open()].filter((request) => matchesHost(host, request.host));
      aborts.abort(open, 'the host was blocked', now);
    }
  }

  /** Seeds given while the crawl runs: on the usual way of a URL. */
  seed(items: readonly UrlItem[], now: Instant, tell: (receipt: SeedReceipt) => void): void {
    const { ending, routing, completion } = this.#p;
    const why = refusals[ending.course];
    if (why !== null) return tell({ ok: false, why });
    if (this.#seeds.length >= SEEDS_PENDING_MAX) {
      return tell({ ok: false, why: 'too many seeds are on their way; try again' });
    }
    completion.activity();
    const { outboxIds } = routing.route(items);
    const lastId = Math.max(0, ...outboxIds);
    this.#seeds.push({ items, since: now.mono, lastId, needs: null, tell });
    this.pump(now);
  }

  /** Tells those whose seeds are safe by now, or have been on their way for long. */
  pump(now: Instant): void {
    for (const seeds of [...this.#seeds]) {
      const late = now.mono - seeds.since >= SEED_ANSWER_MS;
      if (!this.#isSafe(seeds) && !late) continue;
      this.#seeds.splice(this.#seeds.indexOf(seeds), 1);
      const owners = this.#ownersOf(seeds, late);
      this.#whenDurable(() => seeds.tell({ ok: true, owners }));
    }
  }

  #isSafe(seeds: PendingSeeds): boolean {
    const { store, view, copies } = this.#p;
    const first = store.outboxFirst();
    if (first !== null && first <= seeds.lastId) return false;
    if (!seeds.needs) {
      const mine = this.#hostsOf(seeds).filter((host) => view.owns(host));
      seeds.needs = new Map(mine.map((host) => [host, store.lastNumber(host)]));
    }
    for (const [host, n] of seeds.needs) {
      if (view.owns(host) && !copies.isSafe(host, n)) return false;
    }
    return true;
  }

  #hostsOf({ items }: PendingSeeds): Host[] {
    return items.flatMap(({ url }) => this.#p.hostOf(url) ?? []);
  }

  /** By URL; null: it has not been heard of by its owner yet, as far as is known. */
  #ownersOf({ items }: PendingSeeds, late: boolean): Record<string, AgentId | null> {
    const { view, hostOf } = this.#p;
    const owner = (url: string) => view.owner(hostOf(url) ?? '') ?? null;
    return Object.fromEntries(items.map(({ url }) => [url, late ? null : owner(url)]));
  }

  #whenDurable(tell: () => void): void {
    this.#p.effects.push({ type: 'tell', tell, durable: true });
  }
}

/** Why an agent that is about something else takes no seeds. */
const refusals: Readonly<Record<Course['kind'], string | null>> = {
  crawling: null,
  leaving: 'this agent is leaving',
  stopping: 'the crawl is being stopped',
  complete: 'the crawl is complete: add the URL to the seeds of the config and launch again',
  ended: 'this agent has ended',
};
