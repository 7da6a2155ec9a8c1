// Routes the seeds of the config like links, in pieces, as there may be millions. This begins at the
// join. Each process routes all seeds; a known one costs a look-up.

import type { Task } from '../protocol/backlog.ts';
import type { UrlItem } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Routing } from './routing.ts';

export class Seeds implements Task, Part {
  readonly #items: readonly UrlItem[];
  readonly #routing: Pick<Routing, 'route'>;
  readonly #settings: Pick<CoreSettings, 'bounds'>;
  #next = 0;

  constructor(
    items: readonly UrlItem[],
    routing: Pick<Routing, 'route'>,
    settings: Pick<CoreSettings, 'bounds'>,
  ) {
    this.#items = items;
    this.#routing = routing;
    this.#settings = settings;
  }

  /** All seeds are routed. */
  get isQuiet(): boolean {
    return this.#next >= this.#items.length;
  }

  step(): boolean {
    const end = this.#next + this.#settings.bounds.pieceUrls;
    this.#routing.route(this.#items.slice(this.#next, end));
    this.#next = end;
    return this.isQuiet;
  }
}
