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
      /** `exhausted`: this process has no socket left, and nobody was asked. */
      readonly code: 'unreachable' | 'refused' | 'timeout' | 'exhausted';
      readonly message: string;
      /** The name of the agent's crawl, if it refused because that is another one. */
      readonly otherCrawl?: string;
    };

/** A response that an ending agent sent may be read after its connection is lost. */
const LAST_OUTPUT_MS = 100;
/** The only request on its connection, so the number is arbitrary. */
const REQUEST = 1;
/**
 * Commands of this process at the same time. Each needs three of the 1,023 sockets of the library,
 * and a closed one is free only some time later.
 */
const TOGETHER_MAX = 100;

let together = 0;
/** Commands beyond the maximum, which each end of another starts; the callers bound their number. */
const waiting: (() => void)[] = [];
/**
 * Sockets that must not be closed: libzmq would send the end of events to a monitor that nobody
 * reads, and wait for ever, with all later ends of sockets.
 */
const unclosable = new Set<Dealer>();

/** Whether sockets of this process are lost until it ends. */
export function hasLostSockets(): boolean {
  return unclosable.size > 0;
}

/**
 * Sends a command to the agent at `address` (such as `tcp://127.0.0.1:7101`). Resolves with the
 * response, or with a failure at most `timeoutMs` after it was sent. Never rejects.
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
  if (together >= TOGETHER_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
  else together++;
  try {
    const socket = openSocket(address);
    if (!(socket instanceof Dealer)) return socket;
    return await exchange(socket, address, encoded.frame, timeoutMs).finally(() => socket.close());
  } finally {
    const next = waiting.shift();
    if (next) next();
    else together--;
  }
}

/** @returns a socket whose events are reported */
function openSocket(address: string): Dealer | AgentAnswer {
  let socket: Dealer | null = null;
  try {
    // Unlike in `PeerLink`, `immediate` is off: it loses data received just before a disconnect.
    socket = new Dealer({
      linger: 0,
      maxMessageSize: FRAME_BYTES_MAX,
      ipv6: address.includes('['),
    });
    // The first access makes the monitor and its reader.
    void socket.events;
    return socket;
  } catch (error) {
    if (socket) unclosable.add(socket);
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, code: 'exhausted', message: `no socket can be opened: ${why}` };
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
