// Applies signals and the messages of `launch` to the agent of this process. It listens before the
// agent is loaded: an early signal is kept for the agent and does not end the process.
// docs/COMMANDS.md describes the signals.

import type { RunningAgent } from '../../agent.ts';
import type { ToAgent } from './launch-messages.ts';

type Action = 'leave' | ToAgent['type'];

export class ProcessSignals {
  #agent: RunningAgent | null = null;
  #pending: Action | null = null;
  #signals = 0;
  #reopen = () => {};

  /** @param launched - whether a launch started this process */
  constructor(launched: boolean) {
    const leave = () => this.#apply(this.#signals++ === 0 ? 'leave' : 'stopNow');
    process.on('SIGTERM', leave);
    // On Ctrl-C a terminal signals the whole process group: `launch` too, which stops all agents.
    process.on('SIGINT', launched ? () => {} : leave);
    // SIGHUP reopens the log, as is usual for daemons, even if the terminal was closed.
    process.on('SIGHUP', () => this.#reopen());
    process.on('message', ({ type }: ToAgent) => this.#apply(type));
  }

  /** Applies the pending action, if any, and all later actions to this agent. */
  obey(agent: RunningAgent): void {
    this.#agent = agent;
    if (this.#pending) agent[this.#pending]();
  }

  /** @param reopen - called on each SIGHUP */
  onReopen(reopen: () => void): void {
    this.#reopen = reopen;
  }

  #apply(action: Action): void {
    if (this.#agent) this.#agent[action]();
    // Nothing has started yet, so the process can exit at once.
    else if (action === 'stopNow') process.exit(11);
    else this.#pending = action;
  }
}
