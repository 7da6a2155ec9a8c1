// The preference lists that an agent knows, for the core. The lists of other hosts are empty, so the
// core neither requests these hosts nor moves their rows.

import type { Assignment, RingMember } from '../../../assignment/assignment.ts';
import type { Sha1 } from '../../../assignment/identifiers.ts';
import { RecentOrders } from '../../../assignment/recent-orders.ts';
import { isDrained, keyOfName } from '../routing/contact.ts';
import type { Places } from './known-places.ts';

export class KnownLists implements Assignment {
  readonly #places: Places;
  readonly #placed: ReadonlyMap<string, RingMember>;
  readonly #sha1: Sha1;
  readonly #recent = new RecentOrders();

  constructor(places: Places, placed: readonly RingMember[], sha1: Sha1) {
    this.#places = places;
    this.#placed = new Map(placed.map((member) => [member.id, member]));
    this.#sha1 = sha1;
  }

  owner(host: string): string | undefined {
    return this.order(host, 1)[0];
  }

  order(host: string, count = Infinity): readonly string[] {
    const recent = this.#recent.get(host) ?? this.#compute(host);
    return recent.length <= count ? recent : recent.slice(0, count);
  }

  /** The nearest of all placed agents that are known here and take hosts. */
  nearest(host: string): string | undefined {
    return this.#list(this.#places.orderOfKnown(keyOfName(host, this.#sha1)))[0];
  }

  #compute(host: string): readonly string[] {
    const place = this.#places.of(keyOfName(host, this.#sha1));
    const order = place.kind === 'known' ? this.#list(place.order) : [];
    this.#recent.set(host, order);
    return order;
  }

  /** The placed agents by their distance, the drained ones last; empty if no agent takes hosts. */
  #list(order: readonly string[]): readonly string[] {
    const placed = order.flatMap((id) => this.#placed.get(id) ?? []);
    const others = placed.filter((agent) => !isDrained(agent));
    if (others.length === 0) return [];
    return [...others, ...placed.filter(isDrained)].map(({ id }) => id);
  }
}
