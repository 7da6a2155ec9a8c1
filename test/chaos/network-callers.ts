// Who has opened a connection to an agent, so that a proxy can cut one link and let the others be.
// ZMTP's handshake does not tell (the sockets of agents have no name of their own), and a proxy for
// each pair would not do, since agents tell one another the one address at which each is reached.
// But each message names its sender, and a link is one agent's alone: the first message of a
// connection is enough. Until it comes the connection is nobody's, and what it says is the greeting.

import { decodeFrame } from '../../agent/messaging/codec.ts';
import { payloadOf, type Unit } from './network-frames.ts';

/** @returns the agent; empty for a command-line tool; null where the unit does not tell */
export function callerOf(unit: Unit): string | null {
  if (unit.kind !== 'message') return null;
  const decoded = decodeFrame(payloadOf(unit));
  return decoded.ok ? decoded.envelope.from.id : null;
}
