// What an agent in its own process is told to do: by signals, and by the launch that started it. It
// listens before anything else is loaded, so that an order that comes early waits for the agent
// instead of ending the process. docs/COMMANDS.md describes the signals.

import type { RunningAgent } from '../../agent.ts';
import type { ToAgent } from './launch-messages.ts';

type Order = 'leave' | ToAgent['type'];

export class Orders {
  #agent: RunningAgent | null = null;
  #waiting: Order | null = null;
  #signals = 0;
  #reopen = () => {};

  /** @param launched - whether a launch started this process */
  constructor(launched: boolean) {
    const leave = () => this.#give(this.#signals++ === 0 ? 'leave' : 'stopNow');
    process.on('SIGTERM', leave);
    // The terminal signals the whole group: the launcher hears it too, and decides for all.
    process.on('SIGINT', launched ? () => {} : leave);
    // By convention a daemon reopens its log, also where the hangup comes from a terminal.
    process.on('SIGHUP', () => this.#reopen());
    process.on('message', ({ type }: ToAgent) => this.#give(type));
  }

  /** From now on orders go to this agent, the one that waits first. */
  obey(agent: RunningAgent): void {
    this.#agent = agent;
    if (this.#waiting) agent[this.#waiting]();
  }

  /** @param reopen - called on each SIGHUP */
  onReopen(reopen: () => void): void {
    this.#reopen = reopen;
  }

  #give(order: Order): void {
    if (this.#agent) this.#agent[order]();
    // Nothing has begun that would have to be ended with care.
    else if (order === 'stopNow') process.exit(11);
    else this.#waiting = order;
  }
}
