// What befalls the cluster, as this agent saw it: each event goes into the table behind the view
// `events`, and the last few are kept at hand for `status`. The parts of the core write here; times
// are of the monotonic clock, durations inside the details are in milliseconds.

import type { EventKind, Store } from './core-store.ts';

/** Events at hand: as many as a person reads below a table. */
const RECENT_MAX = 8;

export type EventDetail = Readonly<Record<string, unknown>>;

/** An event as `status` tells it. */
export interface RecentEvent {
  readonly kind: EventKind;
  /** How long ago, in milliseconds. */
  readonly ageMs: number;
  readonly detail: EventDetail;
}

export class EventLog {
  readonly #store: Pick<Store, 'event'>;
  /** Filled by `record`, which drops the oldest beyond `RECENT_MAX`. */
  readonly #recent: { at: number; kind: EventKind; detail: EventDetail }[] = [];

  constructor(store: Pick<Store, 'event'>) {
    this.#store = store;
  }

  /** @param at - monotonic milliseconds */
  record(at: number, kind: EventKind, detail: EventDetail): void {
    this.#store.event(at, kind, detail);
    this.#recent.push({ at, kind, detail });
    if (this.#recent.length > RECENT_MAX) this.#recent.shift();
  }

  /** The last events of this process, oldest first. */
  recent(now: number): RecentEvent[] {
    return this.#recent.map(({ at, kind, detail }) => {
      return { kind, ageMs: Math.max(0, Math.round(now - at)), detail };
    });
  }
}
