// Knowing that the crawl is over (PROTOCOL rule 14). An agent is idle when it
// has nothing left to do, to send or to wait for; anything else, however short, starts a new idle
// period. Heartbeats carry the counter at which the period began. When all in the view are idle
// with the same view, and each one's latest heartbeat has news of every other from within that
// other's period, all periods share an instant, at which nothing that matters was on its way.

import type { Member, View } from '../membership/view.ts';
import type { AgentId, Incarnation } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import type { CoreSettings } from '../protocol/settings.ts';

export class Completion implements Part {
  readonly #settings: CoreSettings;
  readonly #view: View;
  #idle = false;
  #idleSince = 0;

  constructor(settings: CoreSettings, view: View) {
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

  /** Something happened that makes an idle agent busy, if only for a moment. */
  activity(): void {
    this.#idle = false;
  }

  /** Called as each heartbeat is made: `counter` is its number. */
  sample(isIdle: boolean, counter: number): { idle: boolean; idleSince: number } {
    if (isIdle && !this.#idle) this.#idleSince = counter;
    this.#idle = isIdle;
    return { idle: isIdle, idleSince: this.#idleSince };
  }

  /** Whether the crawl is complete by what this agent and all in its view have said. */
  isComplete(isIdle: boolean, inc: Incarnation): boolean {
    if (!isIdle || !this.#idle) return false;
    const members = [...this.#view.members()];
    if (this.#settings.quorum === 'majority' && !this.#isMajority(members)) return false;
    const hash = this.#view.hash(inc);
    return members.every((x) => {
      const word = x.lastHeartbeat;
      if (!word?.idle || word.viewHash !== hash) return false;
      return (
        this.#hasHeard(x, this.#settings.id, inc, this.#idleSince) && this.#heardAll(x, members)
      );
    });
  }

  #heardAll(x: Member, members: readonly Member[]): boolean {
    return members.every((y) => {
      if (x === y) return true;
      return (
        y.lastHeartbeat !== null &&
        this.#hasHeard(x, y.card.id, y.card.inc, y.lastHeartbeat.idleSince)
      );
    });
  }

  /** Whether x's latest heartbeat has news of the agent at or beyond the counter. */
  #hasHeard(x: Member, id: AgentId, inc: Incarnation, since: number): boolean {
    const news = x.lastHeartbeat?.news.get(id);
    return news !== undefined && news.inc === inc && news.counter >= since;
  }

  #isMajority(members: readonly Member[]): boolean {
    const present = new Set([this.#settings.id, ...members.map((m) => m.card.id)]);
    const votes = this.#settings.configured.filter(({ id }) => present.has(id)).length;
    return votes * 2 > this.#settings.configured.length;
  }
}
