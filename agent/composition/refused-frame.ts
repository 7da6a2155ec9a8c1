// The answer to a frame that was refused, if its sender needs one.

import type { MemberCard, Message } from '../core/protocol/messages.ts';
import type { CoreSnapshot } from '../core/snapshot.ts';
import type { RefusedFrame } from '../messaging/refusals.ts';
import { clockRefusal } from '../monitor/start-clock.ts';

interface Answer {
  readonly to: Omit<MemberCard, 'capacity'>;
  readonly message: Message;
}

/**
 * @param agents - of the config
 * @returns null if no answer is sent
 */
export function answerOfRefused(
  { batch, from, detail, ahead }: RefusedFrame,
  agents: readonly { readonly id: string; readonly address: string }[],
  { joined, members }: Pick<CoreSnapshot, 'joined' | 'members'>,
  nowMs: number,
): Answer | null {
  if (ahead) {
    // An agent with a wrong clock is told at its configured address, so that its start fails.
    const { id, inc, greeting } = ahead;
    const peer = agents.find((agent) => agent.id === id);
    if (!peer) return null;
    return { to: { ...peer, inc }, message: clockRefusal({ id, inc, greeting, joined, nowMs }) };
  }
  if (batch === undefined || from === undefined) return null;
  // Without an answer, the sender would send a malformed batch again for ever.
  const member = members.find(({ id, inc }) => id === from.id && inc === from.inc);
  return member ? { to: member, message: { type: 'BATCH_REFUSED', batch, reason: detail } } : null;
}
