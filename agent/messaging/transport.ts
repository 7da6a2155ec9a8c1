// What carries messages between agents: one ROUTER that every peer and command-line tool connects
// to, and one link (`peer-link.ts`) to each peer. Delivery is never relied on: frames may be lost,
// repeated and reordered, and the protocol resends. Whatever comes in from the network, garbage or
// attack, is counted and dropped, and never ends the receiving. Made, fed and closed by `agent.ts`,
// which passes on what the core wants sent and gives the core what arrives.
//
// Not bounded, for libzmq offers no way: the parts of one multipart message (each at most 1 MiB)
// before its last, and the number of connections. Both need a stranger with access to the port.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Router } from 'zeromq';
import type { AgentId, Envelope } from '../core/protocol/messages.ts';
import { type BindFailure, explainBindError, parseEndpoint } from './bind-endpoint.ts';
import { BRIEF_MS, BriefLinks } from './brief-links.ts';
import { decodeFrame, encodeEnvelope } from './codec.ts';
import { ControlDesk, type ControlReply, type ControlRequest } from './control-desk.ts';
import { FRAME_BYTES_MAX, PEERS_MAX, SENDERS_MAX } from './limits.ts';
import { KEEPALIVE, type LinkStats, PeerLink } from './peer-link.ts';
import { type RefusalCode, Refusals, type RefusedFrame, type TransportLog } from './refusals.ts';
import type { Lane } from './send-lanes.ts';
import { type SentByType, Traffic } from './traffic.ts';

/** Frames libzmq holds for us from one peer before TCP tells that peer to wait. */
const RECEIVE_FRAMES_MAX = 64;
/** Answers libzmq holds for one command-line tool; more are dropped. */
const ANSWER_FRAMES_MAX = 16;
/** Connections that say nothing for so long are closed. */
const HANDSHAKE_MS = 5000;
/** After so much in a row the event loop gets its turn: timers and fetches must not wait long. */
const BURST_FRAMES = 64;
const BURST_BYTES = 512 * 1024;
/** Failures of the socket itself in a row before it is given up as broken (none is known). */
const RECEIVE_FAILURES_MAX = 100;

export interface TransportOptions {
  readonly id: AgentId;
  /** Endpoint to bind: `tcp://127.0.0.1:7101`, `tcp://[::1]:7101`, `tcp://*:7101`, `ipc://PATH`. */
  readonly listen: string;
  /** `suspectAfterMs`: a connection to a peer that is silent for so long is made anew. */
  readonly silenceMs?: number;
  /** A link to an address that only its sender speaks for is closed after so long; 5 s. */
  readonly briefMs?: number;
  readonly log: TransportLog;
  /** Each valid message for this port, whoever claims to have sent it; `bytes` of its frame. */
  onEnvelope(envelope: Envelope, bytes: number): void;
  /** Each refused frame; one with `batch` wants a BATCH_REFUSED as answer. */
  onRefusedFrame?(refused: RefusedFrame): void;
  /** Each command of a command-line tool; to be answered once, within a minute. */
  onControl(request: ControlRequest, reply: ControlReply): void;
  /** A message that no frame can hold: a URLS batch must be split by whoever made it. */
  onTooLarge?(to: AgentId, envelope: Envelope, bytes: number): void;
  /**
   * Highest incarnation to believe now, such as wall clock plus a year. Since it moves on, an agent
   * whose incarnation was forged at the ceiling can soon go above it, not locked out for ever.
   */
  incarnationMax?(): number;
}

export interface PeerStats extends LinkStats {
  readonly id: AgentId;
}

/** Sums since the start; `peers` those with a link now. */
export interface TransportStats {
  readonly received: number;
  readonly receivedBytes: number;
  readonly refused: Readonly<Partial<Record<RefusalCode, number>>>;
  readonly controlPending: number;
  /** What was sent to all peers there ever were, answers to command-line tools left out. */
  readonly sent: SentByType;
  readonly peers: readonly PeerStats[];
}

/** The messaging of one agent. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #refusals: Refusals;
  readonly #links = new Map<AgentId, PeerLink>();
  readonly #traffic = new Traffic();
  readonly #briefLinks: BriefLinks;
  /** Who spoke on which connection, oldest first. Filled and trimmed on receipt. */
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
    this.#briefLinks = new BriefLinks(this.#traffic, options.briefMs ?? BRIEF_MS);
  }

  /** Starts listening. On failure nothing is left open, and the transport cannot be used. */
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

  /** The endpoint as bound, with the port that `*` became; undefined before `bind`. */
  get endpoint(): string | undefined {
    return this.#router?.lastEndpoint ?? undefined;
  }

  /**
   * Queues a message for a peer, connecting to its address where that is new or has changed. Never
   * throws, never waits; what does not fit is dropped and counted, since the protocol sends again.
   *
   * @param brief - the address is only the peer's own word: nothing but this goes there
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
    const detail = `${type} to the unconfirmed address ${to.address}: too many, or it is no address`;
    this.#refusals.count({ code: 'unsendable', detail });
  }

  #linkTo(to: { readonly id: AgentId; readonly address: string }): PeerLink | undefined {
    const known = this.#links.get(to.id);
    if (known?.address === to.address) return known;
    // What waited for the former address was meant for a former life.
    known?.close();
    if (known === undefined && this.#links.size >= PEERS_MAX) {
      this.#refusals.count({ code: 'unsendable', detail: `more than ${PEERS_MAX} peers` });
      return undefined;
    }
    const link = new PeerLink(to.address, this.#traffic, this.#options.silenceMs);
    this.#links.set(to.id, link);
    if (!link.connect()) {
      const detail = `${to.id} has an address that cannot be connected to: ${to.address}`;
      this.#refusals.count({ code: 'unsendable', detail });
    }
    return link;
  }

  /** Closes the link to a peer that is gone; what waited for it is dropped. */
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
   * Sends what waits for at most `lingerMs`, then closes everything. Receiving goes on meanwhile;
   * no callback is called once this has resolved. The port is free again a moment later.
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
    // Not unbound first, though that would free the port at once: zeromq.js unbinds on another
    // thread, which libzmq does not survive while a receive is pending.
    if (this.#router !== undefined) {
      this.#router.linger = lingerMs;
      this.#router.close();
    }
    await this.#receiving;
    this.#refusals.close();
  }

  /** Reads until the socket is closed. Errors of the callbacks are not caught: they are bugs. */
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

  /** Handles one multipart message; answers its size in bytes. */
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
      this.#refuse({ code: 'sender_changed', detail: `a connection now says ${from.id}`, from });
    } else if (message.type === 'CONTROL' && (from.id === '' || !desk.loopback)) {
      desk.accept(identity, message);
    } else {
      this.#options.onEnvelope(envelope, frame.length);
    }
    return bytes;
  }

  /** A connection speaks for the agent that it first spoke for: links never change theirs. */
  #isSameSender(identity: Buffer, from: AgentId): boolean {
    const key = identity.toString('latin1');
    const known = this.#senders.get(key);
    if (known !== undefined) return known === from;
    this.#senders.set(key, from);
    this.#links.get(from)?.hurry();
    if (this.#senders.size > SENDERS_MAX) {
      for (const oldest of this.#senders.keys()) {
        this.#senders.delete(oldest);
        break;
      }
    }
    return true;
  }

  #refuse(refused: RefusedFrame): void {
    this.#refusals.count(refused);
    this.#options.onRefusedFrame?.(refused);
  }
}

/** ROUTER drops what it cannot deliver, so this neither waits nor fails but when closed. */
async function write(router: Router, identity: Uint8Array, frame: Uint8Array): Promise<void> {
  try {
    await router.send([identity, frame]);
  } catch {
    // The tool is gone or we are closing: it will say so itself.
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
