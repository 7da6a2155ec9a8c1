// Carries messages between agents: one ROUTER socket, to which all peers and command-line tools
// connect, and one link to each peer. Frames may be lost, repeated and reordered; the protocol
// resends. Invalid frames are counted and dropped, and never stop the receive loop.
//
// libzmq cannot limit the number of parts of a multipart message (each at most 1 MiB) and the number
// of connections. Exploiting either needs access to the port.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Router } from 'zeromq';
import type { AgentId, Envelope } from '../core/protocol/messages.ts';
import { type BindFailure, explainBindError, parseEndpoint } from './bind-endpoint.ts';
import { BRIEF_MS, BriefLinks } from './brief-links.ts';
import { FRAME_BYTES_MAX, PEERS_MAX, SENDERS_MAX } from './checks/limits.ts';
import { decodeFrame, encodeEnvelope } from './codec.ts';
import { ControlDesk, type ControlReply, type ControlRequest } from './control-desk.ts';
import { KEEPALIVE, type LinkStats, PeerLink } from './peer-link.ts';
import { type RefusalCode, Refusals, type RefusedFrame, type TransportLog } from './refusals.ts';
import type { Lane } from './send-lanes.ts';
import { type SentByType, Traffic } from './traffic.ts';

/** Frames from one peer that libzmq buffers before TCP makes the peer wait. */
const RECEIVE_FRAMES_MAX = 64;
/** Responses to one command-line tool that libzmq buffers; further ones are dropped. */
const ANSWER_FRAMES_MAX = 16;
/** Deadline for the ZMTP handshake of a new connection. */
const HANDSHAKE_MS = 5000;
/** After so many frames or bytes the receive loop yields, so that timers and fetches can run. */
const BURST_FRAMES = 64;
const BURST_BYTES = 512 * 1024;
/** Consecutive failures of the socket after which it counts as broken; no cause is known. */
const RECEIVE_FAILURES_MAX = 100;

export interface TransportOptions {
  readonly id: AgentId;
  /** Endpoint to bind: `tcp://127.0.0.1:7101`, `tcp://[::1]:7101`, `tcp://*:7101`, `ipc://PATH`. */
  readonly listen: string;
  /** `suspectAfterMs`: a connection without acknowledgements for this time is reopened. */
  readonly silenceMs?: number;
  /** Whether messages are counted by the paper's operations, as with the overlay kademlia. */
  readonly countsOperations?: boolean;
  /** Lifetime of a link to an unconfirmed address; default: 5 s. */
  readonly briefMs?: number;
  readonly log: TransportLog;
  /** Called for each valid message. Its sender is not verified. `bytes`: size of the frame. */
  onEnvelope(envelope: Envelope, bytes: number): void;
  /** Called for each refused frame. If it has a `batch`, BATCH_REFUSED must be sent. */
  onRefusedFrame?(refused: RefusedFrame): void;
  /** Called for each command of a command-line tool. The deadline for `reply` is a minute. */
  onControl(request: ControlRequest, reply: ControlReply): void;
  /** Called for a message that exceeds the frame's limit. The sender must split a URLS batch. */
  onTooLarge?(to: AgentId, envelope: Envelope, bytes: number): void;
  /**
   * Highest plausible incarnation, such as wall clock plus a year. It rises with time, so an agent
   * whose incarnation was forged at this limit can soon use a higher one.
   */
  incarnationMax?(): number;
}

export interface PeerStats extends LinkStats {
  readonly id: AgentId;
}

/** Counts since the start; `peers` has one entry for each open link. */
export interface TransportStats {
  readonly received: number;
  readonly receivedBytes: number;
  readonly refused: Readonly<Partial<Record<RefusalCode, number>>>;
  readonly controlPending: number;
  /** Messages to all present and previous peers, without responses to command-line tools. */
  readonly sent: SentByType;
  readonly peers: readonly PeerStats[];
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #refusals: Refusals;
  readonly #links = new Map<AgentId, PeerLink>();
  readonly #traffic: Traffic;
  readonly #briefLinks: BriefLinks;
  /** Sender by connection identity, oldest first; at most `SENDERS_MAX`. */
  readonly #senders = new Map<string, AgentId>();
  #router: Router | undefined;
  #desk: ControlDesk | undefined;
  #receiving: Promise<void> = Promise.resolve();
  #closed = false;
  #received = 0;
  #receivedBytes = 0;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#refusals = new Refusals(options.log);
    this.#traffic = new Traffic(options.countsOperations);
    this.#briefLinks = new BriefLinks(this.#traffic, options.briefMs ?? BRIEF_MS);
  }

  /** Starts to listen. After a failure nothing is open and the transport cannot be used. */
  async bind(): Promise<{ readonly ok: true } | BindFailure> {
    const { id, listen, onControl } = this.#options;
    const endpoint = parseEndpoint(listen);
    if ('ok' in endpoint) return endpoint;
    const router = new Router({
      linger: 0,
      maxMessageSize: FRAME_BYTES_MAX,
      receiveHighWaterMark: RECEIVE_FRAMES_MAX,
      sendHighWaterMark: ANSWER_FRAMES_MAX,
      handshakeInterval: HANDSHAKE_MS,
      ipv6: endpoint.ipv6,
      ...KEEPALIVE,
    });
    try {
      await router.bind(endpoint.text);
    } catch (error) {
      router.close();
      return explainBindError(listen, error);
    }
    this.#router = router;
    this.#desk = new ControlDesk({
      id,
      loopback: endpoint.loopback,
      onControl: (request, reply) => onControl.call(this.#options, request, reply),
      onRefused: (refused) => this.#refuse(refused),
      write: (identity, frame) => write(router, identity, frame),
    });
    this.#receiving = this.#receive(router, this.#desk);
    return { ok: true };
  }

  /** The bound endpoint, with the actual port instead of `*`; undefined before `bind`. */
  get endpoint(): string | undefined {
    return this.#router?.lastEndpoint ?? undefined;
  }

  /**
   * Queues a message for a peer and connects to its address if that is new or has changed. Never
   * throws or waits. A message that does not fit is dropped and counted.
   *
   * @param brief - the address is unconfirmed: the message goes to it over a short-lived link
   */
  send(
    to: { readonly id: AgentId; readonly address: string },
    envelope: Envelope,
    lane: Lane,
    brief = false,
  ): void {
    if (this.#closed) return;
    if (brief) return this.#sendBriefly(to, envelope, lane);
    const link = this.#linkTo(to);
    if (link === undefined) return;
    if (lane === 'bulk' && link.bulkFull) {
      link.drop();
      return;
    }
    const encoded = encodeEnvelope(envelope);
    if (encoded.ok) {
      link.offer(lane, envelope.message.type, encoded.frame);
      return;
    }
    link.drop();
    const detail = `${envelope.message.type} to ${to.id}: ${encoded.bytes} bytes`;
    this.#refusals.count({ code: 'unsendable', detail });
    this.#options.onTooLarge?.(to.id, envelope, encoded.bytes);
  }

  #sendBriefly(to: { readonly address: string }, envelope: Envelope, lane: Lane): void {
    const encoded = encodeEnvelope(envelope);
    const { type } = envelope.message;
    if (encoded.ok && this.#briefLinks.send(to.address, lane, type, encoded.frame)) return;
    const detail = `${type} to the unconfirmed address ${to.address}: invalid, or too many of them`;
    this.#refusals.count({ code: 'unsendable', detail });
  }

  #linkTo(to: { readonly id: AgentId; readonly address: string }): PeerLink | undefined {
    const known = this.#links.get(to.id);
    if (known?.address === to.address) return known;
    // Frames that wait for the old address were meant for an earlier incarnation.
    known?.close();
    if (known === undefined && this.#links.size >= PEERS_MAX) {
      this.#refusals.count({ code: 'unsendable', detail: `more than ${PEERS_MAX} peers` });
      return undefined;
    }
    const link = new PeerLink(to.address, this.#traffic, this.#options.silenceMs);
    this.#links.set(to.id, link);
    if (!link.connect()) {
      const detail = `${to.id} has an invalid address: ${to.address}`;
      this.#refusals.count({ code: 'unsendable', detail });
    }
    return link;
  }

  /** Closes the link to a peer and drops the frames that wait for it. */
  forget(id: AgentId): void {
    this.#links.get(id)?.close();
    this.#links.delete(id);
  }

  stats(): TransportStats {
    return {
      received: this.#received,
      receivedBytes: this.#receivedBytes,
      refused: this.#refusals.counts(),
      controlPending: this.#desk?.pending ?? 0,
      sent: this.#traffic.byType(),
      peers: Array.from(this.#links, ([id, link]) => ({ id, ...link.stats() })),
    };
  }

  /**
   * Sends the waiting frames for at most `lingerMs`, then closes everything. Callbacks may be called
   * until this resolves. The port becomes free shortly afterwards.
   */
  async close({ lingerMs }: { readonly lingerMs: number }): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const drained = Promise.all([
      ...Array.from(this.#links.values(), (link) => link.drained()),
      this.#desk?.drained(),
      this.#briefLinks.drained(),
    ]);
    if (lingerMs > 0) await within(drained, lingerMs);
    for (const link of this.#links.values()) link.close(lingerMs);
    this.#links.clear();
    this.#briefLinks.close(lingerMs);
    this.#desk?.close();
    // Unbinding first would free the port at once. But zeromq.js unbinds on another thread, and
    // libzmq crashes if a receive is pending.
    if (this.#router !== undefined) {
      this.#router.linger = lingerMs;
      this.#router.close();
    }
    await this.#receiving;
    this.#refusals.close();
  }

  /** Reads until the socket is closed. Errors of callbacks are bugs and are not caught. */
  async #receive(router: Router, desk: ControlDesk): Promise<void> {
    let burstFrames = 0;
    let burstBytes = 0;
    let failures = 0;
    while (!router.closed) {
      let parts: readonly Buffer[];
      try {
        parts = await router.receive();
        failures = 0;
      } catch (error) {
        if (router.closed) return;
        failures += 1;
        if (failures >= RECEIVE_FAILURES_MAX) throw error;
        await nextTurn();
        continue;
      }
      burstFrames += 1;
      burstBytes += this.#take(parts, desk);
      if (burstFrames >= BURST_FRAMES || burstBytes >= BURST_BYTES) {
        burstFrames = 0;
        burstBytes = 0;
        await nextTurn();
      }
    }
  }

  /** Handles one multipart message. Returns its size in bytes. */
  #take(parts: readonly Buffer[], desk: ControlDesk): number {
    const [identity, frame] = parts;
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    this.#received += 1;
    this.#receivedBytes += bytes;
    if (identity === undefined || frame === undefined || parts.length !== 2) {
      this.#refuse({ code: 'bad_parts', detail: `${parts.length} parts, ${bytes} bytes` });
      return bytes;
    }
    const decoded = decodeFrame(frame, this.#options.incarnationMax?.());
    if (!decoded.ok) {
      const { ok: _, ...refused } = decoded;
      this.#refuse(refused);
      return bytes;
    }
    const { envelope } = decoded;
    const { from, message } = envelope;
    if (!this.#isSameSender(identity, from.id)) {
      this.#refuse({ code: 'sender_changed', detail: `the connection now names ${from.id}`, from });
    } else if (message.type === 'CONTROL' && (from.id === '' || !desk.loopback)) {
      desk.accept(identity, message);
    } else {
      this.#options.onEnvelope(envelope, frame.length);
    }
    return bytes;
  }

  /** A connection belongs to the first agent that it names. A link of an agent never changes it. */
  #isSameSender(identity: Buffer, from: AgentId): boolean {
    const key = identity.toString('latin1');
    const known = this.#senders.get(key);
    if (known !== undefined) return known === from;
    this.#senders.set(key, from);
    this.#links.get(from)?.hurry();
    if (this.#senders.size > SENDERS_MAX) {
      const [oldest = ''] = this.#senders.keys();
      this.#senders.delete(oldest);
    }
    return true;
  }

  #refuse(refused: RefusedFrame): void {
    this.#refusals.count(refused);
    this.#options.onRefusedFrame?.(refused);
  }
}

/** ROUTER drops undeliverable frames, so this never waits and fails only if closed. */
async function write(router: Router, identity: Uint8Array, frame: Uint8Array): Promise<void> {
  try {
    await router.send([identity, frame]);
  } catch {
    // The tool has ended, or the socket is closed; the tool then reports the lost connection.
  }
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
