// The preference lists that an agent knows, for the core. The lists of other hosts are empty, so the
// core neither requests these hosts nor moves their rows.

import type { Assignment } from '../../../assignment/assignment.ts';
import type { Sha1 } from '../../../assignment/identifiers.ts';
import { RecentOrders } from '../../../assignment/recent-orders.ts';
import { keyOfName } from '../routing/contact.ts';
import type { Places } from './known-places.ts';

export class KnownLists implements Assignment {
  readonly #places: Places;
  readonly #placed: ReadonlySet<string>;
  readonly #sha1: Sha1;
  readonly #recent = new RecentOrders();

  constructor(places: Places, placed: ReadonlySet<string>, sha1: Sha1) {
    this.#places = places;
    this.#placed = placed;
    this.#sha1 = sha1;
  }

  owner(host: string): string | undefined {
    return this.order(host, 1)[0];
  }

  order(host: string, count = Infinity): readonly string[] {
    const recent = this.#recent.get(host) ?? this.#compute(host);
    return recent.length <= count ? recent : recent.slice(0, count);
  }

  /** The nearest of all placed agents that are known here. */
  nearest(host: string): string | undefined {
    const order = this.#places.orderOfKnown(keyOfName(host, this.#sha1));
    return order.find((id) => this.#placed.has(id));
  }

  #compute(host: string): readonly string[] {
    const place = this.#places.of(keyOfName(host, this.#sha1));
    const order = place.kind === 'known' ? place.order.filter((id) => this.#placed.has(id)) : [];
    this.#recent.set(host, order);
    return order;
  }
}
