// `launch --restart`: which agents that ended are started again, and after what wait. The wait grows
// from one end to the next, so that an agent that cannot live costs little, and begins anew once an
// agent has lived for long. Pure: `launch-command.ts` gives it the time.

import { assertNever } from '../../core/protocol/assert-never.ts';
import type { Ending } from './endings.ts';

const waitMsMin = 1000;
/** The others crawl on meanwhile, and a cause that lasts is looked for once in five minutes. */
const waitMsMax = 300_000;
/** An agent that has lived for so long has got over what ended it before. */
const soundAfterMs = 600_000;

export class Restarts {
  /** Ends in a row, by agent. */
  readonly #ends = new Map<string, number>();

  /** Whether the agent has ended before. */
  has(id: string): boolean {
    return this.#ends.has(id);
  }

  /**
   * To be called once for each end.
   *
   * @param livedMs - from its start to its end
   * @returns milliseconds to wait before the agent is started again
   */
  waitMs(id: string, livedMs: number): number {
    const ends = livedMs >= soundAfterMs ? 0 : (this.#ends.get(id) ?? 0);
    this.#ends.set(id, ends + 1);
    return Math.min(waitMsMin * 2 ** ends, waitMsMax);
  }
}

/**
 * @param ran - whether the agent was at work: `now`, in the process that ended; `before`, in one that
 *   it was started again after. An agent that is refused at its first start (a port in use, another
 *   crawl's directory) would be refused again. One that ran before had its port, and gets it back
 *   when the program that has taken it ends.
 */
export function mayRestart(ending: Ending, ran: 'now' | 'before' | 'never'): boolean {
  switch (ending.kind) {
    case 'complete':
    case 'left':
    case 'interrupted':
      return false;
    case 'killed':
    case 'crashed':
      return true;
    case 'failed':
      if (ending.code === 1 || ending.code === 3) return true;
      return ran === 'now' || (ran === 'before' && ending.code === 5);
    default:
      return assertNever(ending);
  }
}
