// A way through all hosts of which there are rows, some at a time: their names alone are too many to
// be read in one turn. It goes by their numbers, up to the last one that was given when it began;
// what is deleted before it comes there is left out, and what is discovered later too.

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

  /** The next hosts, `max` at most. */
  take(max: number): Host[] {
    if (this.isOver) return [];
    const rows = this.#store.hostsAfter(this.#after, max);
    this.#after = rows.length < max ? this.#upTo : rows.at(-1)!.number;
    return rows.filter(({ number }) => number <= this.#upTo).map(({ host }) => host);
  }
}
