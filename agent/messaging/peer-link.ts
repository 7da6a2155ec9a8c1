// The connection to one peer: a DEALER socket, and a loop that feeds it from the peer's lanes. The
// socket buffers only a few frames, and none while it is not connected. A heartbeat therefore never
// waits for more than these few, and after an outage the peer gets current frames first.

import { Dealer } from 'zeromq';
import type { MessageType } from '../core/protocol/messages.ts';
import { type Lane, Lanes } from './send-lanes.ts';
import type { Traffic } from './traffic.ts';

/** Frames that libzmq buffers: enough to keep the network busy, few enough for heartbeats. */
const SOCKET_FRAMES_MAX = 4;
/** Size of the kernel's send buffer. Heartbeats wait for the bulk frames in it. */
const SOCKET_BUFFER_BYTES = 128 * 1024;
/** Peers respond on their own sockets, so nothing larger than a ZMTP command arrives here. */
const INCOMING_BYTES_MAX = 1024;
/** First and longest pause before a new attempt to connect; each pause is twice the last one. */
const RECONNECT_MS = 100;
export const RECONNECT_MAX_MS = 1000;
/**
 * Deadline for an attempt to connect. Without it the kernel retries at ever longer intervals and
 * notices half a minute late that the network works again.
 */
const CONNECT_MS = 2000;
/** Detects within about half a minute that a machine has vanished. */
export const KEEPALIVE = {
  tcpKeepalive: 1,
  tcpKeepaliveIdle: 10,
  tcpKeepaliveInterval: 5,
  tcpKeepaliveCount: 3,
} as const;
/**
 * A connection without acknowledgements for `silenceMs`, limited to this range, is closed. The
 * kernel retransmits at ever longer intervals, and its data would be stale by then. With a shorter
 * limit, packet loss alone would close connections.
 */
const RETRANSMIT_MIN_MS = 1000;
const RETRANSMIT_MAX_MS = 20_000;

export interface LinkStats {
  readonly address: string;
  /** Frames since the link was created, as are the next two counts. */
  readonly sent: number;
  readonly sentBytes: number;
  readonly dropped: number;
  /** Frames that wait now, as are the next two counts. */
  readonly controlFrames: number;
  readonly bulkFrames: number;
  readonly bulkBytes: number;
}

export class PeerLink {
  readonly address: string;
  readonly #socket: Dealer;
  readonly #lanes = new Lanes();
  readonly #traffic: Traffic;
  /** Message types of the waiting frames, for the traffic counts. */
  readonly #types = new WeakMap<Uint8Array, MessageType>();
  #pumping = false;
  #pump = Promise.resolve();
  /** The frame that is being sent. It waits for the connection or for the network. */
  #awaited: Uint8Array | null = null;
  #connected = false;
  #sent = 0;
  #sentBytes = 0;
  #dropped = 0;

  /**
   * @param traffic - counts the sent frames
   * @param silenceMs - a connection without acknowledgements for this time is closed; the failure
   *   detector's limit is suitable
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

  /** Starts connecting. Returns false if the address is invalid; then nothing is ever sent. */
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
   * To be called when the peer opened a connection to this agent. If a frame waits, and still does
   * after a pause, this reconnects at once; libzmq would wait for up to a second. The pause is
   * needed because reconnecting a working connection loses frames that libzmq has buffered.
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

  /** Whether a bulk frame would be dropped now. */
  get bulkFull(): boolean {
    return this.#lanes.bulkFull;
  }

  /** Counts a dropped frame that was not offered. */
  drop(): void {
    this.#dropped += 1;
  }

  /** Queues a frame. If the lane is full, frames are dropped and counted. */
  offer(lane: Lane, type: MessageType, frame: Uint8Array): void {
    if (this.#socket.closed) {
      this.drop();
      return;
    }
    this.#types.set(frame, type);
    this.#dropped += this.#lanes.offer(lane, type, frame);
    if (!this.#pumping) this.#pump = this.#run();
  }

  /** A socket allows one send at a time, so only this loop sends. */
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

  /** Resolves when the lanes are empty, which never happens while the peer is down. */
  async drained(): Promise<void> {
    while (this.#pumping) await this.#pump;
  }

  /** @param lingerMs - how long libzmq may go on sending buffered frames */
  close(lingerMs = 0): void {
    if (this.#socket.closed) return;
    this.#socket.linger = lingerMs;
    this.#socket.close();
  }
}
