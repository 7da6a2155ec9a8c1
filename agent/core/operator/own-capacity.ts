// The capacity of this agent, which a directive may change while it runs. All agents compute the
// preference lists from the capacities of the incarnations in view. So the agent joins again with a
// higher incarnation of the new capacity, and hosts move as after any join. It first finishes its open
// requests, since a new incarnation must abort them and their pages would be requested again. It also
// waits until its members have the directive, because it may be the only agent that does.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { FetchRight } from '../hand-off/fetch-right.ts';
import type { Shutdown } from '../lifecycle/shutdown.ts';
import type { View } from '../membership/view.ts';
import type { Visits } from '../protocol/visits-port.ts';
import type { DirectedSettings } from './directed-settings.ts';
import type { Operator } from './operator.ts';

/** Milliseconds that it waits for both, as an agent that leaves. */
const WAIT_MS_MAX = 30_000;

interface OwnCapacityParts {
  readonly capacity: Pick<DirectedSettings, 'current' | 'directed'>;
  readonly view: Pick<View, 'joined'>;
  readonly right: Pick<FetchRight, 'suspended'>;
  readonly visits: Pick<Visits, 'openCount' | 'wakeAll'>;
  readonly shutdown: Pick<Shutdown, 'state'>;
  readonly operator: Pick<Operator, 'isQuiet'>;
}

export class OwnCapacity {
  readonly #p: OwnCapacityParts;
  /** Since when no request is started; null: the capacity does not change. */
  #since: number | null = null;

  constructor(parts: OwnCapacityParts) {
    this.#p = parts;
  }

  /** An agent that ends keeps its capacity. */
  get #changes(): boolean {
    const { capacity, shutdown } = this.#p;
    return shutdown.state === 'crawling' && capacity.directed !== capacity.current;
  }

  get isQuiet(): boolean {
    return !this.#changes;
  }

  /** Whether a new incarnation must begin now. Called at the start of each turn. */
  isDue(now: Instant): boolean {
    const { view, right, visits, operator } = this.#p;
    if (!this.#changes) {
      if (this.#since !== null) this.#resume();
      return false;
    }
    this.#since ??= now.mono;
    right.suspended = true;
    const mayWait = view.joined && now.mono - this.#since < WAIT_MS_MAX;
    if (mayWait && (visits.openCount() > 0 || !operator.isQuiet)) return false;
    this.#resume();
    return true;
  }

  #resume(): void {
    this.#since = null;
    this.#p.right.suspended = false;
    this.#p.visits.wakeAll();
  }
}
