// Iterates over all hosts that have rows here, in order of their numbers, some at a time: the names
// are too many to read in one turn. Hosts that are deleted before the walk reaches them, or
// discovered after it began, are left out.

import type { Store } from '../protocol/core-store.ts';
import type { Host } from '../protocol/messages.ts';

export class HostWalk {
  readonly #store: Pick<Store, 'hostsAfter'>;
  readonly #upTo: number;
  #after = 0;

  constructor(store: Pick<Store, 'hostsAfter' | 'lastHost'>) {
    this.#store = store;
    this.#upTo = store.lastHost();
  }

  get isOver(): boolean {
    return this.#after >= this.#upTo;
  }

  /** Returns up to `max` further hosts. */
  take(max: number): Host[] {
    if (this.isOver) return [];
    const rows = this.#store.hostsAfter(this.#after, max);
    this.#after = rows.length < max ? this.#upTo : rows.at(-1)!.number;
    return rows.filter(({ number }) => number <= this.#upTo).map(({ host }) => host);
  }
}
