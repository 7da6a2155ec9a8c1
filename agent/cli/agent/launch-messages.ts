// The messages between `launch` and its agents, over the channel of `child_process`. If the launch
// dies, the channel closes and the agents continue.

import type { AgentStatus } from '../../monitor/agent-status.ts';

/** How an agent ended by itself. `unfinished`: only agents that do not run have work left. */
export type EndKind = 'complete' | 'unfinished' | 'left' | 'interrupted' | 'failed';

export type FromAgent =
  | { readonly type: 'status'; readonly status: AgentStatus }
  /**
   * The last message. Missing if the agent was killed, crashed, or exited before it could send it.
   */
  | {
      readonly type: 'ended';
      readonly code: number;
      readonly reason: string;
      readonly endKind: EndKind;
      /** Whether the agent's log has the reason; stderr has it, too, unless it is a terminal. */
      readonly logged: boolean;
    };

export type ToAgent = { readonly type: 'stop' } | { readonly type: 'stopNow' };

/** Milliseconds between two status reports of an agent. */
export const statusEveryMs = 500;
