// The seeds of the config on their way into the crawl: routed like links, in pieces, from the join
// on. There may be millions. They are routed anew in each life of the process: those that are known
// cost a look-up.

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

  /** All are routed. */
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
