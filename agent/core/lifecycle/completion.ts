// Detects that the crawl is complete (PROTOCOL rule 14). An agent is idle when it has nothing to do, to
// send or to wait for; any activity ends its idle period. Heartbeats carry the counter at which the
// period began. If all agents are idle with the same view, and each one's latest heartbeat has news of
// every other from that other's idle period, all periods overlap in an instant without messages that
// matter. Under `majority`, the members of an earlier end count although they have exited.

import type { Overlay } from '../membership/overlay.ts';
import type { Member, View } from '../membership/view.ts';
import type { AgentId, Incarnation } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import type { CoreSettings } from '../protocol/settings.ts';

export class Completion implements Part {
  readonly #settings: CoreSettings;
  readonly #view: View;
  readonly #overlay: Pick<Overlay, 'isPartial' | 'tree'>;
  #idle = false;
  #idleSince = 0;
  /** Members at the end, for agents that were away. Filled by `learn`. Bound: the config. */
  #ended: ReadonlySet<AgentId>;
  /** No majority has been in view since that end, so nothing has been requested since. */
  #isEndValid: boolean;

  constructor(settings: CoreSettings, view: View, overlay: Pick<Overlay, 'isPartial' | 'tree'>) {
    this.#overlay = overlay;
    this.#settings = settings;
    this.#view = view;
    this.#ended = new Set(settings.completedBy);
    this.#isEndValid = this.#ended.size > 0;
  }

  reset(): void {
    this.#idle = false;
    this.#idleSince = 0;
  }

  viewChanged(): void {
    this.activity();
    if (this.#isMajority(this.#present())) this.#isEndValid = false;
  }

  /** All members of the cluster that have taken part in the end, this agent included. */
  get members(): readonly AgentId[] {
    return [...new Set([...this.#present(), ...this.#ended])].sort();
  }

  /**
   * A member reports the end of the crawl, with its `members`.
   *
   * @param covers - whether that end covers all directives that this agent has
   */
  learn(members: readonly AgentId[], covers: boolean): void {
    const named = this.#settings.configured.filter(({ id }) => members.includes(id));
    this.#ended = new Set([...this.#ended, ...named.map(({ id }) => id)]);
    if (covers) this.#isEndValid = !this.#isMajority(this.#present());
  }

  /** A block has changed or a round has begun, which an earlier end does not cover. */
  reopened(): void {
    this.#isEndValid = false;
    this.activity();
  }

  /**
   * Ends the idle period, even if the agent is idle again at once. What was found out about all
   * agents holds only for that period.
   */
  activity(): void {
    this.#idle = false;
    this.#overlay.tree.isComplete = false;
  }

  /** Called for each heartbeat; `counter` is its number. */
  sample(isIdle: boolean, counter: number): { idle: boolean; idleSince: number } {
    if (isIdle && !this.#idle) this.#idleSince = counter;
    this.#idle = isIdle;
    return { idle: isIdle, idleSince: this.#idleSince };
  }

  isIdleSince(counter: number): boolean {
    return this.#idle && this.#idleSince === counter;
  }

  /** Whether the state of this agent and the heartbeats of all members show completion. */
  isComplete(isIdle: boolean, inc: Incarnation): boolean {
    if (!isIdle || !this.#idle) return false;
    if (this.#overlay.isPartial) return this.#overlay.tree.isComplete;
    const members = [...this.#view.members()];
    if (this.#settings.quorum === 'majority' && !this.hasMajority) return false;
    const hash = this.#view.hash(inc);
    return members.every((x) => {
      const last = x.lastHeartbeat;
      if (!last?.idle || last.viewHash !== hash) return false;
      return hasHeard(x, this.#settings.id, inc, this.#idleSince) && heardAll(x, members);
    });
  }

  /** Whether more than half of the configured agents are in view or have taken part in the end. */
  get hasMajority(): boolean {
    return this.#isMajority(this.#isEndValid ? this.members : this.#present());
  }

  #present(): readonly AgentId[] {
    return [this.#settings.id, ...[...this.#view.members()].map(({ card }) => card.id)];
  }

  #isMajority(ids: readonly AgentId[]): boolean {
    const present = new Set(ids);
    const votes = this.#settings.configured.filter(({ id }) => present.has(id)).length;
    return votes * 2 > this.#settings.configured.length;
  }
}

function heardAll(x: Member, members: readonly Member[]): boolean {
  return members.every((y) => {
    const since = y.lastHeartbeat?.idleSince ?? Infinity;
    return x === y || hasHeard(x, y.card.id, y.card.inc, since);
  });
}

/** Whether x's latest heartbeat has news of the agent at the counter or later. */
function hasHeard(x: Member, id: AgentId, inc: Incarnation, since: number): boolean {
  const news = x.lastHeartbeat?.news.get(id);
  return news?.inc === inc && news.counter >= since;
}
