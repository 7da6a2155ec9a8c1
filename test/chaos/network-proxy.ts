// A TCP proxy in front of an agent: peers connect to it, it connects to where the agent listens, and
// what the peers send is delayed, clogged, throttled, cut off, damaged, or repeated and reordered
// message by message on the way; or cut off from single peers alone. What the agent answers (to
// command-line tools alone) is passed on as it is. Needs no rights. Used by the tests of slow and
// faulty links, and by the storms; `network-frames.ts` finds the messages, so that a fault of
// messages leaves a stream that the receiver takes for whole.

import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../simulation/random.ts';
import { callerOf } from './network-callers.ts';
import { type Unit, unitsOf } from './network-frames.ts';

/** What happens to the stream towards the agent; nothing where nothing is said. */
export interface ProxyFault {
  /** Each unit comes so much later, and by up to the jitter later still; the order stays. */
  readonly delayMs?: number;
  readonly jitterMs?: number;
  /** Nothing comes through, nothing is lost. */
  readonly clogged?: boolean;
  readonly messagesPerSecond?: number;
  /** Each connection is reset (RST) when it is so old. */
  readonly resetAfterMs?: number;
  /** One bit of so many bytes is turned, framing included. */
  readonly flipEveryBytes?: number;
  /** Shares, in [0, 1], of the messages: sent twice, after the next, and an old one once more. */
  readonly duplicated?: number;
  readonly reordered?: number;
  readonly replayed?: number;
}

/**
 * Links that are cut, by the agent that calls. Nothing comes through. What has waited for so many
 * milliseconds is lost, and its connection reset, as by a sender whose kernel gives up; what has
 * waited for less comes when the cut is over, as what the kernel repeats. 0: each connection is
 * reset with its first message.
 */
export type Cuts = ReadonlyMap<string, number>;

/** Old messages of a connection that may come again. */
const replaysMax = 200;
/** What waits in a connection before the sender is held back by TCP. */
const waitingBytesMax = 64 * 1024;
/** How often a connection with too much waiting looks whether it may take more. */
const lookMs = 10;
/** A message that is to come after the next one waits no longer for one. */
const reorderMsMax = 500;
const never = Number.POSITIVE_INFINITY;

/** The proxy of one agent. Its fault may be changed at any time, also for open connections. */
export class NetworkProxy {
  /**
   * Messages passed on so far, repeated ones included, and what befell them; `cut` counts those that
   * a cut lost or held up. The tests' proof that the fault was there.
   */
  readonly counts = {
    ...{ messages: 0, bytes: 0, repeated: 0, reordered: 0, flipped: 0, resets: 0, cut: 0 },
  };
  readonly random: Random;
  readonly #server: net.Server;
  readonly #port: number;
  readonly #sockets = new Set<net.Socket>();
  readonly #streams = new Set<Stream>();
  #fault: ProxyFault = {};
  #cuts: Cuts = new Map();

  private constructor(server: net.Server, port: number, random: Random) {
    this.#server = server;
    this.#port = port;
    this.random = random;
    server.on('connection', (socket) => this.#join(socket));
  }

  /** @param port - where the agent listens, on 127.0.0.1; it need not be there yet */
  static async start(port: number, random: Random): Promise<NetworkProxy> {
    // A sender must feel at once that nobody reads, and so have little in the kernel.
    const server = net.createServer({ noDelay: true, highWaterMark: waitingBytesMax });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new NetworkProxy(server, port, random);
  }

  /** What peers connect to. */
  get address(): string {
    return `tcp://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
  }

  get fault(): ProxyFault {
    return this.#fault;
  }

  set fault(fault: ProxyFault) {
    this.#fault = fault;
    this.#changed();
  }

  get cuts(): Cuts {
    return this.#cuts;
  }

  set cuts(cuts: Cuts) {
    this.#cuts = cuts;
    this.#changed();
  }

  async stop(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #changed(): void {
    for (const stream of this.#streams) stream.look();
  }

  #join(caller: net.Socket): void {
    const agent = net.connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    const stream = new Stream(this, agent, () => {
      this.counts.resets++;
      caller.resetAndDestroy();
      agent.resetAndDestroy();
    });
    this.#streams.add(stream);
    const end = () => {
      caller.destroy();
      agent.destroy();
    };
    for (const socket of [caller, agent]) {
      this.#sockets.add(socket);
      socket.on('error', end).on('close', () => {
        this.#sockets.delete(socket);
        stream.look();
      });
    }
    // What a caller that has closed said before it is still on its way.
    agent.on('close', end);
    agent.pipe(caller);
    const over = () => {
      this.#streams.delete(stream);
      end();
    };
    stream.carry(caller).then(over, over);
  }
}

/** One connection's way to the agent: units come in, wait their time, and are written. */
class Stream {
  readonly #proxy: NetworkProxy;
  readonly #agent: net.Socket;
  readonly #reset: () => void;
  readonly #startMs = performance.now();
  readonly #queue: { unit: Unit; cameMs: number; dueMs: number }[] = [];
  readonly #old: Unit[] = [];
  /** Null until a message has told. */
  #caller: string | null = null;
  #queuedBytes = 0;
  #heldBack: { unit: Unit; sinceMs: number } | null = null;
  #bytesToFlip = Number.NaN;
  #over = false;
  #wake = () => {};

  constructor(proxy: NetworkProxy, agent: net.Socket, reset: () => void) {
    this.#proxy = proxy;
    this.#agent = agent;
    this.#reset = reset;
  }

  /** Resolves when the caller has ended and all is written, or the agent is gone. */
  async carry(caller: net.Socket): Promise<void> {
    const written = this.#write();
    try {
      for await (const unit of unitsOf(caller)) {
        this.#caller ??= callerOf(unit);
        if (this.#heldMsMax !== null) this.#proxy.counts.cut++;
        for (const sent of this.#multiply(unit)) this.#enqueue(sent);
        this.look();
        while (this.#queuedBytes > waitingBytesMax && !this.#agent.destroyed) await pause(lookMs);
      }
    } finally {
      this.#over = true;
      this.look();
    }
    await written;
  }

  /** Something has changed: more has come, or the fault is another. */
  look(): void {
    this.#wake();
  }

  /** Null where the link is not cut. */
  get #heldMsMax(): number | null {
    return this.#caller === null ? null : (this.#proxy.cuts.get(this.#caller) ?? null);
  }

  #enqueue(unit: Unit): void {
    const { delayMs = 0, jitterMs = 0 } = this.#proxy.fault;
    const cameMs = performance.now();
    const dueMs = cameMs + delayMs + jitterMs * this.#proxy.random.next();
    this.#queue.push({ unit, cameMs, dueMs });
    this.#queuedBytes += unit.bytes.length;
  }

  /** What becomes of a message: itself, and copies of it or of an older one; or nothing yet. */
  #multiply(unit: Unit): Unit[] {
    const { random, counts, fault } = this.#proxy;
    if (unit.kind !== 'message') return [unit];
    const sent = [unit];
    if (random.chance(fault.duplicated ?? 0)) sent.push(unit);
    if (this.#old.length > 0 && random.chance(fault.replayed ?? 0))
      sent.push(random.pick(this.#old));
    counts.repeated += sent.length - 1;
    this.#old.push(unit);
    if (this.#old.length > replaysMax) this.#old.shift();
    const earlier = this.#heldBack;
    this.#heldBack = null;
    if (earlier) return [...sent, earlier.unit];
    if (!random.chance(fault.reordered ?? 0)) return sent;
    counts.reordered++;
    this.#heldBack = { unit, sinceMs: performance.now() };
    return sent.slice(1);
  }

  async #write(): Promise<void> {
    while (!this.#agent.destroyed) {
      const now = performance.now();
      if (now >= this.#resetMs()) return this.#reset();
      const sinceMs = this.#heldBack?.sinceMs ?? now;
      if (this.#heldBack && (this.#over || now - sinceMs > reorderMsMax)) {
        this.#enqueue(this.#heldBack.unit);
        this.#heldBack = null;
      }
      const [first] = this.#queue;
      if (first === undefined && this.#over) return;
      const stands = this.#proxy.fault.clogged || this.#heldMsMax !== null;
      if (first === undefined || stands || first.dueMs > now) {
        const goesOnMs = stands ? never : (first?.dueMs ?? never);
        const heldBackMs = (this.#heldBack?.sinceMs ?? never) + reorderMsMax;
        await this.#until(Math.min(goesOnMs, heldBackMs, this.#resetMs()));
        continue;
      }
      this.#queue.shift();
      this.#queuedBytes -= first.unit.bytes.length;
      await this.#pass(first.unit);
    }
  }

  #resetMs(): number {
    const tooOldMs = this.#startMs + (this.#proxy.fault.resetAfterMs ?? never);
    return Math.min(tooOldMs, (this.#queue[0]?.cameMs ?? never) + (this.#heldMsMax ?? never));
  }

  /** Resolves then, or when something has changed. */
  #until(atMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waitMs = Math.max(1, Math.ceil(atMs - performance.now()));
      const timer = waitMs === never ? undefined : setTimeout(resolve, waitMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #pass({ kind, bytes }: Unit): Promise<void> {
    const { fault, counts } = this.#proxy;
    if (kind === 'message') counts.messages++;
    counts.bytes += bytes.length;
    if (!this.#agent.write(this.#damaged(bytes))) await drained(this.#agent);
    const { messagesPerSecond } = fault;
    if (messagesPerSecond !== undefined && kind === 'message')
      await pause(1000 / messagesPerSecond);
  }

  /** The bytes, with one bit turned where its turn has come. */
  #damaged(bytes: Buffer): Buffer {
    const { fault, random, counts } = this.#proxy;
    const every = fault.flipEveryBytes;
    if (every === undefined) return bytes;
    if (Number.isNaN(this.#bytesToFlip)) this.#bytesToFlip = random.whole(0, 2 * every);
    if (this.#bytesToFlip >= bytes.length) {
      this.#bytesToFlip -= bytes.length;
      return bytes;
    }
    const damaged = Buffer.from(bytes);
    damaged[this.#bytesToFlip]! ^= 1 << random.whole(0, 7);
    this.#bytesToFlip = random.whole(0, 2 * every);
    counts.flipped++;
    return damaged;
  }
}

function drained(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('drain', resolve).once('close', () => resolve());
  });
}
