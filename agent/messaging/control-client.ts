// The command line's side of CONTROL: asks one agent and waits for its answer. A DEALER without an
// identifier connects to the agent's port; the agent answers on the same connection. Used by the
// commands `status`, `stop` and the like. What went wrong is told apart: nobody there, somebody who
// does not answer, or an agent that says no.

import { Dealer } from 'zeromq';
import type { ControlVerb } from '../core/protocol/messages.ts';
import { decodeFrame, encodeEnvelope } from './codec.ts';
import { FRAME_BYTES_MAX } from './limits.ts';

/** `message` is a sentence for the user. */
export type AgentAnswer =
  | { readonly ok: true; readonly result: unknown }
  | {
      readonly ok: false;
      readonly code: 'unreachable' | 'refused' | 'timeout';
      readonly message: string;
      /** The name of the agent's crawl, where that is why it refused. */
      readonly otherCrawl?: string;
    };

/** An answer sent just before its agent ended may be read just after the loss of the connection. */
const LAST_WORDS_MS = 100;
/** One question a connection, so any number will do. */
const REQUEST = 1;

/**
 * Asks the agent at `address` (such as `tcp://127.0.0.1:7101`) and resolves with its answer, at the
 * latest after `timeoutMs`. Never rejects.
 *
 * @param crawl - its name; an agent of another crawl refuses. Absent: whichever crawl it is
 */
export async function askAgent(
  address: string,
  verb: ControlVerb,
  args: readonly string[],
  timeoutMs: number,
  crawl?: string,
): Promise<AgentAnswer> {
  const encoded = encodeEnvelope({
    from: { id: '', inc: 0 },
    to: { id: '', inc: 0 },
    message: {
      ...{ type: 'CONTROL', request: REQUEST, verb, args },
      ...(crawl !== undefined && { crawl }),
    },
  });
  if (!encoded.ok) {
    return { ok: false, code: 'refused', message: `the command has ${encoded.bytes} bytes` };
  }
  // Not `immediate` as the links of peers: that loses what was received just before a disconnect.
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
  // libzmq would try again for ever; for a person at a terminal the first failure is the answer.
  let lastWords: NodeJS.Timeout | undefined;
  socket.events.on('connect:retry', () => {
    lastWords ??= setTimeout(
      () => unreachable(connected ? 'the connection was lost' : 'nobody listens there'),
      LAST_WORDS_MS,
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
    unreachable('not an address to connect to');
  }
  // Both end with an error when the socket is closed, after the promise has resolved.
  socket.send(frame).then(
    () => receiveAnswer(socket).then(resolve, () => unreachable('the connection was lost')),
    () => unreachable('nothing could be sent'),
  );
  const answer = await promise;
  clearTimeout(deadline);
  clearTimeout(lastWords);
  return answer;
}

async function receiveAnswer(socket: Dealer): Promise<AgentAnswer> {
  const [first, ...rest] = await socket.receive();
  const decoded = decodeFrame(rest.length > 0 || first === undefined ? new Uint8Array() : first);
  if (!decoded.ok) {
    const message = `the agent's answer was not understood: ${decoded.detail}`;
    return { ok: false, code: 'refused', message };
  }
  const { message } = decoded.envelope;
  if (message.type !== 'CONTROL_ACK' || message.request !== REQUEST) {
    return { ok: false, code: 'refused', message: `the agent answered with ${message.type}` };
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
