// Which of the agents that a launch has started should have ended long ago. An agent ends by itself
// within seconds of its last word, of the order to stop, and of the end of the crawl; one that does
// not hangs, and the launch kills it rather than wait for ever. Pure: `launch-command.ts` gives it the time.

/** Twice what the slowest orderly end takes: the pages of open requests, copies, the archive. */
export const endMsMax = 30_000;

/** An agent as the launch knows it. */
export interface Waited {
  readonly id: string;
  /** Whether its process is there. */
  readonly isAlive: boolean;
  /** Whether it has said how it ends. */
  readonly hasLastWord: boolean;
}

export class Overdue {
  /** Since when the end of each agent is awaited. */
  readonly #since = new Map<string, number>();

  /**
   * @param isOver - whether all are to end: the crawl is complete, or they were told to stop
   * @param now - monotonic milliseconds
   * @returns the identifiers of those whose time is over
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
