// A TCP proxy in front of an agent: peers connect to it, and it connects to the agent. It delays,
// blocks, throttles, cuts or damages the stream from the peers, or repeats and reorders its
// messages. It can also cut single peers. Answers of the agent (only to command-line tools) pass
// unchanged. `network-frames.ts` finds the messages, so that faults of messages leave a valid
// stream. It needs no special rights.

import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../simulation/random.ts';
import { callerOf } from './network-callers.ts';
import { type Unit, unitsOf } from './network-frames.ts';

/** The faults of the stream towards the agent; none by default. */
export interface ProxyFault {
  /** Delay of each unit, plus a random jitter. The order stays. */
  readonly delayMs?: number;
  readonly jitterMs?: number;
  /** Nothing passes, and nothing is lost. */
  readonly clogged?: boolean;
  readonly messagesPerSecond?: number;
  /** Age at which each connection is reset (RST). */
  readonly resetAfterMs?: number;
  /** One bit in this many bytes is flipped, framing included. */
  readonly flipEveryBytes?: number;
  /**
   * Shares, in [0, 1], of messages that are sent twice, sent after the next one, or sent again
   * later.
   */
  readonly duplicated?: number;
  readonly reordered?: number;
  readonly replayed?: number;
}

/**
 * The cut links, by the calling agent. Nothing passes. A message that has waited for the given
 * milliseconds is lost and its connection is reset, like a sender's kernel that gives up. Messages
 * that have waited for less arrive after the cut, like repetitions of the kernel. 0: each
 * connection is reset at its first message.
 */
export type Cuts = ReadonlyMap<string, number>;

/** Maximum number of old messages of a connection that may be replayed. */
const replaysMax = 200;
/** Waiting bytes of a connection above which TCP slows the sender down. */
const waitingBytesMax = 64 * 1024;
/** How often a connection with too many waiting bytes checks whether it may read more. */
const lookMs = 10;
/** A message to be sent after the next one waits no longer than this. */
const reorderMsMax = 500;
const never = Number.POSITIVE_INFINITY;

/** The proxy of one agent. Its fault may change at any time, also for open connections. */
export class NetworkProxy {
  /**
   * Messages passed on so far, repeated ones included, and the faults applied. `cut` counts
   * messages that a cut lost or delayed. They prove that the fault was present.
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

  /** @param port - where the agent listens on 127.0.0.1; the agent may start later */
  static async start(port: number, random: Random): Promise<NetworkProxy> {
    // Little data may wait in the kernel, so that a sender notices at once that no one reads.
    const server = net.createServer({ noDelay: true, highWaterMark: waitingBytesMax });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new NetworkProxy(server, port, random);
  }

  /** The address to which peers connect. */
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
    // Data of a caller that has already closed may still be on its way.
    agent.on('close', end);
    agent.pipe(caller);
    const over = () => {
      this.#streams.delete(stream);
      end();
    };
    stream.carry(caller).then(over, over);
  }
}

/** One connection towards the agent: units arrive, wait until they are due, and are written. */
class Stream {
  readonly #proxy: NetworkProxy;
  readonly #agent: net.Socket;
  readonly #reset: () => void;
  readonly #startMs = performance.now();
  readonly #queue: { unit: Unit; cameMs: number; dueMs: number }[] = [];
  readonly #old: Unit[] = [];
  /** Null until a message names the agent. */
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

  /** Resolves when the caller has ended and all is written, or when the agent's side is closed. */
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

  /** Called when more data arrived or the fault changed. */
  look(): void {
    this.#wake();
  }

  /** Null if the link is not cut. */
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

  /**
   * The units to send for a message: itself and copies of it or of an older one; possibly none yet.
   */
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

  /** Resolves at that time, or when something has changed. */
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

  /** The bytes, with a bit flipped when it is due. */
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
