// Finds the agent that opened a connection, so that a proxy can cut one link and leave the others.
// ZMTP's handshake does not name the agent, and one proxy for each pair is impossible because
// agents announce a single address. But each message names its sender, and a connection belongs to
// one agent, so its first message is enough. Before that the connection carries only the greeting.

import { decodeFrame } from '../../agent/messaging/codec.ts';
import { payloadOf, type Unit } from './network-frames.ts';

/** @returns the agent; empty for a command-line tool; null if the unit does not name it */
export function callerOf(unit: Unit): string | null {
  if (unit.kind !== 'message') return null;
  const decoded = decodeFrame(payloadOf(unit));
  return decoded.ok ? decoded.envelope.from.id : null;
}
