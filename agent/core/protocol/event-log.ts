// Records what happens to the cluster as this agent sees it. Each event goes into the table behind
// the view `events`; the last few stay in memory for `status`.

/** Events kept in memory: as many as a person reads below a table. */
const RECENT_MAX = 8;

/** Also: a text in `agent/cli/status/status-events.ts` and a line in docs/VIEWS.md. */
export type EventKind =
  | 'join'
  | 'rejoin'
  | 'suspect'
  | 'remove'
  | 'takeover'
  | 'handoff'
  | 'leave'
  | 'complete'
  | 'abort'
  | 'trap'
  | 'robots'
  | 'wal'
  | 'network'
  | 'refused'
  | 'order';

/** Durations in it are in milliseconds. */
export type EventDetail = Readonly<Record<string, unknown>>;

/** An event as `status` reports it. */
export interface RecentEvent {
  readonly kind: EventKind;
  /** Milliseconds since the event. */
  readonly ageMs: number;
  readonly detail: EventDetail;
}

/** Where events are stored. */
export interface EventStore {
  /** @param at - monotonic milliseconds */
  event(at: number, kind: EventKind, detail: EventDetail): void;
}

export class EventLog {
  readonly #store: EventStore;
  /** Filled by `record`, which drops the oldest beyond `RECENT_MAX`. */
  readonly #recent: { at: number; kind: EventKind; detail: EventDetail }[] = [];

  constructor(store: EventStore) {
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
