// `launch --restart`: which agents are restarted after their exit, and after which delay. The delay
// doubles with each exit, so that an agent that always fails costs little. It is reset after a long
// run.

import { assertNever } from '../../core/protocol/assert-never.ts';
import type { AgentExit } from './agent-exits.ts';

const waitMsMin = 1000;
/** Long, because the other agents continue the crawl. */
const waitMsMax = 300_000;
/** After a run of this length the cause of the previous exit counts as gone. */
const soundAfterMs = 600_000;

export class Restarts {
  /** Number of consecutive exits, by agent. */
  readonly #ends = new Map<string, number>();

  /** Whether the agent has exited before. */
  has(id: string): boolean {
    return this.#ends.has(id);
  }

  /**
   * Must be called once for each exit.
   *
   * @param livedMs - from the start to the exit of the process
   * @returns milliseconds to wait before the agent is restarted
   */
  waitMs(id: string, livedMs: number): number {
    const ends = livedMs >= soundAfterMs ? 0 : (this.#ends.get(id) ?? 0);
    this.#ends.set(id, ends + 1);
    return Math.min(waitMsMin * 2 ** ends, waitMsMax);
  }
}

/**
 * @param ran - whether the agent was running: `now`, in the process that exited; `before`, in an
 *   earlier process. An agent that is refused at its first start (port in use, directory of another
 *   crawl) would be refused again. An agent that ran before can use its port again when the program
 *   that occupies it exits.
 */
export function mayRestart(exit: AgentExit, ran: 'now' | 'before' | 'never'): boolean {
  switch (exit.kind) {
    case 'complete':
    case 'left':
    // It would find no work again. The agents that have work continue or are restarted.
    case 'unfinished':
    case 'interrupted':
      return false;
    case 'killed':
    case 'crashed':
      return true;
    case 'failed':
      if (exit.code === 1 || exit.code === 3) return true;
      return ran === 'now' || (ran === 'before' && exit.code === 5);
    default:
      return assertNever(exit);
  }
}
