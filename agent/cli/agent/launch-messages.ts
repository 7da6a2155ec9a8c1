// The messages between `launch` and its agents, over the channel of `child_process`. If the launch
// dies, the channel closes and the agents continue.

import type { AgentStatus } from '../../monitor/agent-status.ts';

/** How an agent ended by itself. */
export type EndKind = 'complete' | 'left' | 'interrupted' | 'failed';

export type FromAgent =
  | { readonly type: 'status'; readonly status: AgentStatus }
  /** The last message. An agent that exits without it was killed or has crashed. */
  | {
      readonly type: 'ended';
      readonly code: number;
      readonly reason: string;
      readonly course: EndKind;
      /** Whether the agent's log has the reason; unless stderr is a terminal, it is there, too. */
      readonly logged: boolean;
    };

export type ToAgent = { readonly type: 'stop' } | { readonly type: 'stopNow' };

/** Milliseconds between two status reports of an agent. */
export const statusEveryMs = 500;
