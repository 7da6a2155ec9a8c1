// Shared by the tests on real sockets: a bound transport that records what it receives, a bounded
// wait for a condition, and raw TCP connections that play a script of bytes. All are on loopback.

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { AgentId, Envelope, Message } from '../../../agent/core/protocol/messages.ts';
import type { RefusedFrame } from '../../../agent/messaging/refusals.ts';
import { Transport, type TransportOptions } from '../../../agent/messaging/transport.ts';

const WAIT_MS = 15_000;
const POLL_MS = 2;

/** Resolves when the condition holds; fails after `mostMs` and names the condition. */
export async function until(what: string, holds: () => boolean, mostMs = WAIT_MS): Promise<void> {
  const endsAt = performance.now() + mostMs;
  while (!holds()) {
    assert.ok(performance.now() < endsAt, `timed out, waiting until ${what}`);
    await pause(POLL_MS);
  }
}

/** A transport on a free port, with everything that it has received. */
export interface Station {
  readonly transport: Transport;
  readonly address: string;
  readonly port: number;
  readonly received: Envelope[];
  readonly refused: RefusedFrame[];
  readonly lines: object[];
}

/** Binds a transport for one test and closes it afterwards. */
export async function station(
  t: Pick<TestContext, 'after'>,
  id: AgentId,
  more: Partial<TransportOptions> = {},
): Promise<Station> {
  const endsAt = performance.now() + WAIT_MS;
  const received: Envelope[] = [];
  const refused: RefusedFrame[] = [];
  const lines: object[] = [];
  const make = () =>
    new Transport({
      id,
      listen: 'tcp://127.0.0.1:*',
      log: { debug: () => {}, warn: (fields, message) => lines.push({ ...fields, message }) },
      onEnvelope: (envelope) => received.push(envelope),
      onRefusedFrame: (frame) => refused.push(frame),
      onControl: (request, reply) => reply({ ok: true, result: request }),
      ...more,
    });
  let transport = make();
  // A port that another transport of the test has just closed becomes free with a delay.
  for (let bound = await transport.bind(); !bound.ok; bound = await transport.bind()) {
    assert.ok(bound.code === 'port_in_use' && performance.now() < endsAt, bound.message);
    await pause(POLL_MS);
    transport = make();
  }
  t.after(() => transport.close({ lingerMs: 0 }));
  const address = transport.endpoint ?? '';
  return { transport, address, port: Number(address.split(':').at(-1)), received, refused, lines };
}

/** An envelope between two agents in their first incarnations. */
export function envelope(from: AgentId, to: AgentId, message: Message): Envelope {
  return { from: { id: from, inc: 1 }, to: { id: to, inc: 1 }, message };
}

/** A heartbeat with its counter as identification. */
export function heartbeat(counter: number): Message {
  return {
    type: 'HEARTBEAT',
    counter,
    joined: true,
    capacity: 1,
    address: 'tcp://127.0.0.1:7101',
    fingerprintHash: '',
    news: [],
    gone: [],
    suspects: [],
    idle: false,
    idleSince: 0,
    viewHash: '',
    gen: 0,
    orders: '',
  };
}

/** Asserts that the target serves its peers: sends a new message and waits for its arrival. */
export async function assertServes(from: Station, to: Station, id: AgentId): Promise<void> {
  served += 1;
  const counter = served;
  const peer = { id: 'target', address: to.address };
  from.transport.send(peer, envelope(id, 'target', heartbeat(counter)), 'control');
  const arrived = ({ message }: Envelope) =>
    message.type === 'HEARTBEAT' && message.counter === counter;
  await until(`the good peer's heartbeat ${counter} arrives`, () => to.received.some(arrived));
}

let served = 1_000_000;

/** One step of a script of bytes, in the format of the independent cases. */
export interface Step {
  readonly hex?: string;
  readonly waitMs?: number;
  readonly repeatHex?: string;
  readonly times?: number;
  readonly subscribeRange?: number;
  readonly connections?: number;
  readonly reset?: boolean;
}

/** Plays a script against a port, and then waits for the reply (in hex) if one is given. */
export async function play(port: number, steps: readonly Step[], reply = ''): Promise<void> {
  const chunks: Buffer[] = [];
  const socket = await open(port);
  socket.on('data', (chunk) => chunks.push(chunk));
  try {
    for (const step of steps) {
      if (step.connections !== undefined) await flood(port, step.connections);
      else if (step.waitMs !== undefined) await pause(step.waitMs);
      else if (!(await write(socket, bytesOf(step)))) break;
    }
    const replied = () => Buffer.concat(chunks).toString('hex').includes(reply);
    await until(`${reply} comes back`, replied);
  } finally {
    // No reset, because the last bytes must still be read.
    socket.end();
  }
}

function bytesOf(step: Step): Buffer {
  if (step.subscribeRange !== undefined) {
    const frames = Array.from({ length: step.subscribeRange }, (_, i) => {
      const body = Buffer.from(`\u0001topic-${i}`);
      return Buffer.concat([Buffer.from([0, body.length]), body]);
    });
    return Buffer.concat(frames);
  }
  const unit = Buffer.from(step.hex ?? step.repeatHex ?? '', 'hex');
  const times = step.times ?? 1;
  const bytes = Buffer.alloc(unit.length * times);
  if (unit.length > 0) bytes.fill(unit);
  return bytes;
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('connect', resolve);
  socket.once('close', () => resolve());
  await promise;
  return socket;
}

/** Returns false if the other end has closed, which ends the script. */
async function write(socket: Socket, bytes: Buffer): Promise<boolean> {
  if (socket.destroyed) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const closed = () => resolve(false);
  socket.once('close', closed);
  socket.write(bytes, (error) => resolve(!error));
  const written = await promise;
  socket.off('close', closed);
  return written;
}

async function flood(port: number, connections: number): Promise<void> {
  for (let left = connections; left > 0; left -= 50) {
    const sockets = await Promise.all(Array.from({ length: Math.min(50, left) }, () => open(port)));
    for (const socket of sockets) socket.resetAndDestroy();
  }
}
