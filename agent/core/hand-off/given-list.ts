// The state of one list of hosts that this agent gives to another, from its first part to its last
// yield. `hand-off.ts` creates and advances it.

import type { AgentId, Host } from '../protocol/messages.ts';
import type { ListSource } from './list-source.ts';

/** A list of mine: first its parts are sent, then its hosts yielded one after the other. */
export interface GivenList {
  readonly number: number;
  readonly to: AgentId;
  /** What has still to be looked through for hosts to name, and how. */
  readonly source: ListSource;
  /** Named by the look through so far and not sent yet. */
  unsent: Host[];
  /** The part that waits for its acknowledgement; null: the next one is to be made. */
  sending: { readonly hosts: readonly Host[]; readonly last: boolean } | null;
  part: number;
  /** The last part is acknowledged: the hosts can be yielded. */
  named: boolean;
  readonly pending: Set<Host>;
  readonly withdrawn: Set<Host>;
  /** See the message; empty unless this agent leaves. */
  readonly leavers: readonly AgentId[];
  readonly openedAt: number;
  /** Until then rows that could still settle are waited for. */
  readonly settleUntil: number;
  sentAt: number;
  /** Hosts of the YIELD that waits for its acknowledgement. */
  offered: Host[];
  /** Hosts that were in any YIELD: only those can be acknowledged. */
  readonly yielded: Set<Host>;
  /** Hosts named in all. */
  total: number;
}
