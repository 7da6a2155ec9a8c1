// What `launch` and the agents that it starts say to each other over the channel between parent and
// child. An agent whose launcher has gone loses the channel and crawls on.

import type { AgentStatus } from '../../monitor/agent-status.ts';

/** How an agent's own end came about. */
export type EndKind = 'complete' | 'left' | 'interrupted' | 'failed';

export type FromAgent =
  | { readonly type: 'status'; readonly status: AgentStatus }
  /** The last message: an agent that dies without it was killed. */
  | {
      readonly type: 'ended';
      readonly code: number;
      readonly reason: string;
      readonly course: EndKind;
      /** Whether its log, which is on stderr where no terminal is, has said so. */
      readonly logged: boolean;
    };

export type ToAgent = { readonly type: 'stop' } | { readonly type: 'stopNow' };

/** Between two reports of an agent's status. */
export const statusEveryMs = 500;
