// The way to one peer: a DEALER socket connected to its address, and the pump that feeds it from
// the peer's lanes. `transport.ts` keeps one for each peer. The socket takes only a few frames
// ahead and none at all while it is not connected, so that what was said last is what a peer hears
// first after an outage, and a heartbeat never stands behind more than those few frames.

import { Dealer } from 'zeromq';
import type { MessageType } from '../core/protocol/messages.ts';
import { type Lane, Lanes } from './send-lanes.ts';
import type { Traffic } from './traffic.ts';

/** Frames libzmq takes ahead of the network: enough to keep it busy, few for a heartbeat. */
const SOCKET_FRAMES_MAX = 4;
/** Kernel buffer for sending: bulk inside it is ahead of any heartbeat. */
const SOCKET_BUFFER_BYTES = 128 * 1024;
/** Peers answer on their own sockets: nothing larger than a ZMTP command is expected here. */
const INCOMING_BYTES_MAX = 1024;
/** First pause before connecting again, and the longest after doubling. */
const RECONNECT_MS = 100;
export const RECONNECT_MAX_MS = 1000;
/**
 * A connection that does not come is begun anew after this: the kernel by itself would ask at ever
 * longer intervals, and so find a healed network half a minute late.
 */
const CONNECT_MS = 2000;
/** A machine that vanished without a word is noticed after about half a minute. */
export const KEEPALIVE = {
  tcpKeepalive: 1,
  tcpKeepaliveIdle: 10,
  tcpKeepaliveInterval: 5,
  tcpKeepaliveCount: 3,
} as const;
/**
 * A connection on which nothing sent is confirmed for `silenceMs` is given up, within these bounds:
 * the kernel repeats at ever longer intervals, up to the length of the outage, and what it has
 * taken is stale by then. Below the least, loss alone would end connections.
 */
const RETRANSMIT_MIN_MS = 1000;
const RETRANSMIT_MAX_MS = 20_000;

/** Counts since the link was made; the rest is what waits now. */
export interface LinkStats {
  readonly address: string;
  readonly sent: number;
  readonly sentBytes: number;
  readonly dropped: number;
  readonly controlFrames: number;
  readonly bulkFrames: number;
  readonly bulkBytes: number;
}

/** One peer's socket, lanes and pump. */
export class PeerLink {
  readonly address: string;
  readonly #socket: Dealer;
  readonly #lanes = new Lanes();
  readonly #traffic: Traffic;
  /** Of the frames that wait: which type to count them under, once they are sent. */
  readonly #types = new WeakMap<Uint8Array, MessageType>();
  #pumping = false;
  #pump = Promise.resolve();
  /** The frame that the socket is to take; it waits for a connection, or for the network. */
  #awaited: Uint8Array | null = null;
  #connected = false;
  #sent = 0;
  #sentBytes = 0;
  #dropped = 0;

  /**
   * @param traffic - where what is sent is counted by its type
   * @param silenceMs - after this the peer would be taken for dead, so its connection may be too
   */
  constructor(address: string, traffic: Traffic, silenceMs = RETRANSMIT_MAX_MS) {
    this.address = address;
    this.#traffic = traffic;
    this.#socket = new Dealer({
      linger: 0,
      immediate: true,
      sendHighWaterMark: SOCKET_FRAMES_MAX,
      receiveHighWaterMark: 1,
      sendBufferSize: SOCKET_BUFFER_BYTES,
      maxMessageSize: INCOMING_BYTES_MAX,
      reconnectInterval: RECONNECT_MS,
      reconnectMaxInterval: RECONNECT_MAX_MS,
      connectTimeout: CONNECT_MS,
      tcpMaxRetransmitTimeout: Math.min(Math.max(silenceMs, RETRANSMIT_MIN_MS), RETRANSMIT_MAX_MS),
      ipv6: address.includes('['),
      ...KEEPALIVE,
    });
  }

  /** Starts connecting; false if libzmq cannot make sense of the address: nothing is ever sent. */
  connect(): boolean {
    try {
      this.#socket.connect(this.address);
      this.#connected = true;
    } catch {
      this.#socket.close();
    }
    return this.#connected;
  }

  /**
   * The peer has just been heard on a new connection. Where a frame waits for ours, and still does a
   * while later, that is begun anew: libzmq by itself would find the peer up to a second later. Not
   * at once, for a connection that is well loses what libzmq has already taken.
   */
  hurry(): void {
    const awaited = this.#awaited;
    if (awaited === null || !this.#connected) return;
    setTimeout(() => {
      if (this.#awaited !== awaited || this.#socket.closed) return;
      this.#socket.disconnect(this.address);
      this.#socket.connect(this.address);
    }, RECONNECT_MS).unref();
  }

  /** Whether bulk would be dropped now. */
  get bulkFull(): boolean {
    return this.#lanes.bulkFull;
  }

  /** Counts a frame that was not even queued. */
  drop(): void {
    this.#dropped += 1;
  }

  /** Queues a frame; what does not fit is dropped and counted. */
  offer(lane: Lane, type: MessageType, frame: Uint8Array): void {
    if (this.#socket.closed) {
      this.drop();
      return;
    }
    this.#types.set(frame, type);
    this.#dropped += this.#lanes.offer(lane, type, frame);
    if (!this.#pumping) this.#pump = this.#run();
  }

  /** A socket takes one send at a time: this loop is the only one that sends. */
  async #run(): Promise<void> {
    this.#pumping = true;
    for (let frame = this.#lanes.next(); frame !== undefined; frame = this.#lanes.next()) {
      const size = frame.length;
      const type = this.#types.get(frame);
      this.#awaited = frame;
      try {
        await this.#socket.send(frame);
        this.#sent += 1;
        this.#sentBytes += size;
        if (type !== undefined) this.#traffic.count(type, size);
      } catch {
        this.#dropped += 1;
        if (this.#socket.closed) break;
      }
    }
    this.#awaited = null;
    this.#pumping = false;
  }

  stats(): LinkStats {
    return {
      address: this.address,
      sent: this.#sent,
      sentBytes: this.#sentBytes,
      dropped: this.#dropped,
      controlFrames: this.#lanes.controlFrames,
      bulkFrames: this.#lanes.bulkFrames,
      bulkBytes: this.#lanes.bulkBytes,
    };
  }

  /** Resolves once nothing waits in the lanes, which is never while the peer is down. */
  async drained(): Promise<void> {
    while (this.#pumping) await this.#pump;
  }

  /** Ends the link. `lingerMs`: how long libzmq may go on sending what it has already taken. */
  close(lingerMs = 0): void {
    if (this.#socket.closed) return;
    this.#socket.linger = lingerMs;
    this.#socket.close();
  }
}
