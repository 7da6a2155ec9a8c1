// Sends one command to an agent and waits for the response. The client has no agent identifier: it
// connects to the agent's port, and the agent responds on the same connection.

import { Dealer } from 'zeromq';
import type { ControlVerb, MemberCard } from '../core/protocol/messages.ts';
import { FRAME_BYTES_MAX } from './checks/limits.ts';
import { decodeFrame, encodeEnvelope } from './codec.ts';

/** `message` is a sentence for the user. */
export type AgentAnswer =
  | { readonly ok: true; readonly result: unknown }
  | {
      readonly ok: false;
      readonly code: 'unreachable' | 'refused' | 'timeout';
      readonly message: string;
      /** The name of the agent's crawl, if it refused because that is another one. */
      readonly otherCrawl?: string;
    };

/** A response that an ending agent sent may be read after its connection is lost. */
const LAST_OUTPUT_MS = 100;
/** The only request on its connection, so the number is arbitrary. */
const REQUEST = 1;

/**
 * Sends a command to the agent at `address` (such as `tcp://127.0.0.1:7101`). Resolves with the
 * response, or with a failure after at most `timeoutMs`. Never rejects.
 *
 * @param crawl - name of the crawl; agents of another crawl refuse. Absent: any crawl
 * @param to - the agents to which it is forwarded; absent: the members of the agent
 */
export async function askAgent(
  address: string,
  verb: ControlVerb,
  args: readonly string[],
  timeoutMs: number,
  crawl?: string,
  to?: readonly MemberCard[],
): Promise<AgentAnswer> {
  const encoded = encodeEnvelope({
    from: { id: '', inc: 0 },
    to: { id: '', inc: 0 },
    message: {
      ...{ type: 'CONTROL', request: REQUEST, verb, args },
      ...(crawl !== undefined && { crawl }),
      ...(to && { to }),
    },
  });
  if (!encoded.ok) {
    const message = `the command is too large: ${encoded.bytes} bytes`;
    return { ok: false, code: 'refused', message };
  }
  // Unlike in `PeerLink`, `immediate` is off: it loses data received just before a disconnect.
  const socket = new Dealer({
    linger: 0,
    maxMessageSize: FRAME_BYTES_MAX,
    ipv6: address.includes('['),
  });
  try {
    return await exchange(socket, address, encoded.frame, timeoutMs);
  } finally {
    socket.close();
  }
}

async function exchange(
  socket: Dealer,
  address: string,
  frame: Uint8Array,
  timeoutMs: number,
): Promise<AgentAnswer> {
  const { promise, resolve } = Promise.withResolvers<AgentAnswer>();
  let connected = false;
  const unreachable = (why: string) =>
    resolve({ ok: false, code: 'unreachable', message: `${address}: ${why}` });
  socket.events.on('handshake', () => {
    connected = true;
  });
  // libzmq would reconnect for ever. Here the first failure ends the command.
  let lastOutput: NodeJS.Timeout | undefined;
  socket.events.on('connect:retry', () => {
    lastOutput ??= setTimeout(
      () => unreachable(connected ? 'the connection was lost' : 'nothing listens there'),
      LAST_OUTPUT_MS,
    );
  });
  const deadline = setTimeout(() => {
    if (!connected) return unreachable('no agent answers there');
    const message = `${address}: no answer within ${timeoutMs} ms`;
    resolve({ ok: false, code: 'timeout', message });
  }, timeoutMs);
  try {
    socket.connect(address);
  } catch {
    unreachable('not a valid address');
  }
  // Closing the socket rejects both calls; the promise is resolved by then.
  socket.send(frame).then(
    () => receiveAnswer(socket).then(resolve, () => unreachable('the connection was lost')),
    () => unreachable('the command could not be sent'),
  );
  const answer = await promise;
  clearTimeout(deadline);
  clearTimeout(lastOutput);
  return answer;
}

async function receiveAnswer(socket: Dealer): Promise<AgentAnswer> {
  const [first, ...rest] = await socket.receive();
  const decoded = decodeFrame(rest.length > 0 || first === undefined ? new Uint8Array() : first);
  if (!decoded.ok) {
    const message = `the agent's response is invalid: ${decoded.detail}`;
    return { ok: false, code: 'refused', message };
  }
  const { message } = decoded.envelope;
  if (message.type !== 'CONTROL_ACK' || message.request !== REQUEST) {
    return { ok: false, code: 'refused', message: `unexpected response ${message.type}` };
  }
  if (message.ok) return { ok: true, result: message.result };
  const { result } = message;
  if (typeof result === 'object' && result !== null && 'crawl' in result) {
    const otherCrawl = String(result.crawl);
    return { ok: false, code: 'refused', message: `its crawl is '${otherCrawl}'`, otherCrawl };
  }
  const why = typeof result === 'string' ? result : JSON.stringify(result);
  return { ok: false, code: 'refused', message: why };
}
