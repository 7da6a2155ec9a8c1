// Detects that the crawl is complete (PROTOCOL rule 14). An agent is idle when it has nothing to do, to
// send or to wait for; any activity ends its idle period. Heartbeats carry the counter at which the
// period began. If all agents are idle with the same view, and each one's latest heartbeat has news of
// every other from that other's idle period, all periods overlap in an instant without messages that
// matter.

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

  constructor(settings: CoreSettings, view: View, overlay: Pick<Overlay, 'isPartial' | 'tree'>) {
    this.#overlay = overlay;
    this.#settings = settings;
    this.#view = view;
  }

  reset(): void {
    this.#idle = false;
    this.#idleSince = 0;
  }

  viewChanged(): void {
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
    if (this.#settings.quorum === 'majority' && !this.#isMajority(members)) return false;
    const hash = this.#view.hash(inc);
    return members.every((x) => {
      const last = x.lastHeartbeat;
      if (!last?.idle || last.viewHash !== hash) return false;
      return hasHeard(x, this.#settings.id, inc, this.#idleSince) && heardAll(x, members);
    });
  }

  #isMajority(members: readonly Member[]): boolean {
    const present = new Set([this.#settings.id, ...members.map((m) => m.card.id)]);
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
