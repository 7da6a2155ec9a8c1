// Finds agents that hang at their exit, which the launch kills. An agent must exit within seconds of
// its last report, of the command to stop, and of the end of the crawl.

/** Twice the time of the slowest regular exit: open requests, copies, the archive. */
export const endMsMax = 30_000;

export interface Waited {
  readonly id: string;
  readonly isAlive: boolean;
  /** Whether it has reported the result of its run. */
  readonly hasLastWord: boolean;
}

export class Overdue {
  /** Since when the exit of each agent is awaited. */
  readonly #since = new Map<string, number>();

  /**
   * @param isOver - whether all agents must exit: the crawl is complete or was stopped
   * @param now - monotonic milliseconds
   * @returns the identifiers of agents that should have exited `endMsMax` ago
   */
  at(now: number, agents: readonly Waited[], isOver: boolean): readonly string[] {
    const awaited = agents.filter(({ isAlive, hasLastWord }) => isAlive && (isOver || hasLastWord));
    for (const id of this.#since.keys()) {
      if (!awaited.some((agent) => agent.id === id)) this.#since.delete(id);
    }
    for (const { id } of awaited) if (!this.#since.has(id)) this.#since.set(id, now);
    return awaited.filter(({ id }) => now - this.#since.get(id)! >= endMsMax).map(({ id }) => id);
  }
}
