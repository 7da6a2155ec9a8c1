// Commands from command-line tools, and the answers to them. A tool is nobody's peer: it connects,
// asks, and is answered on the agent's ROUTER by the identity of its connection. The transport
// passes CONTROL without a sender here; what may wait for the agent is bounded in number and time,
// so that any number of tools, or one that never reads, costs nothing.

import type { AgentId, ControlVerb, Envelope, Message } from '../core/protocol/messages.ts';
import { encodeEnvelope } from './codec.ts';
import { CONTROL_PENDING_MAX, CONTROL_REPLY_MAX_MS, REPLIES_MAX } from './limits.ts';
import type { RefusedFrame } from './refusals.ts';

/** One command, as the agent sees it. */
export interface ControlRequest {
  readonly verb: ControlVerb;
  readonly args: readonly string[];
  /** The name of the crawl that is meant; absent from tools of earlier versions. */
  readonly crawl?: string;
}

/** The answer: `result` is any JSON, and where not `ok` a sentence for the user. */
export interface ControlAnswer {
  readonly ok: boolean;
  readonly result: unknown;
}

/** Answers the command; only the first call counts. */
export type ControlReply = (answer: ControlAnswer) => void;

type Control = Extract<Message, { type: 'CONTROL' }>;

export interface ControlDeskOptions {
  readonly id: AgentId;
  /** Whether only this machine can reach the agent: else commands are refused. */
  readonly loopback: boolean;
  onControl(request: ControlRequest, reply: ControlReply): void;
  onRefused(refused: RefusedFrame): void;
  /** Writes to the connection of that identity, silently nowhere if it is gone. Never blocks. */
  write(identity: Uint8Array, frame: Uint8Array): Promise<void>;
}

/** Where commands wait for their answers. */
export class ControlDesk {
  readonly #options: ControlDeskOptions;
  readonly #pending = new Set<NodeJS.Timeout>();
  readonly #replies: { identity: Uint8Array; frame: Uint8Array }[] = [];
  #pumping = false;
  #pump = Promise.resolve();

  constructor(options: ControlDeskOptions) {
    this.#options = options;
  }

  get loopback(): boolean {
    return this.#options.loopback;
  }

  get pending(): number {
    return this.#pending.size;
  }

  /** Takes a command from the connection `identity` . */
  accept(identity: Uint8Array, control: Control): void {
    const { request, verb, args, crawl } = control;
    if (!this.#options.loopback) {
      const detail = 'commands are taken on a loopback address only';
      this.#options.onRefused({ code: 'control_remote', detail });
      this.#answer(identity, request, { ok: false, result: `refused: ${detail}` });
      return;
    }
    if (this.#pending.size >= CONTROL_PENDING_MAX) {
      const detail = `${CONTROL_PENDING_MAX} commands are waiting already`;
      this.#options.onRefused({ code: 'control_busy', detail });
      this.#answer(identity, request, { ok: false, result: `busy: ${detail}` });
      return;
    }
    const settle: ControlReply = (answer) => {
      if (!this.#pending.delete(timer)) return;
      clearTimeout(timer);
      this.#answer(identity, request, answer);
    };
    const late = { ok: false, result: 'the agent did not get to it in time' };
    const timer = setTimeout(() => settle(late), CONTROL_REPLY_MAX_MS);
    timer.unref();
    this.#pending.add(timer);
    this.#options.onControl({ verb, args, ...(crawl !== undefined && { crawl }) }, settle);
  }

  #answer(identity: Uint8Array, request: number, answer: ControlAnswer): void {
    let encoded = encodeEnvelope(this.#envelope(request, answer));
    if (!encoded.ok) {
      const result = `the answer has ${encoded.bytes} bytes, too many to send`;
      encoded = encodeEnvelope(this.#envelope(request, { ok: false, result }));
    }
    // The oldest is dropped: whoever asked it has waited longest and is the likeliest to be gone.
    if (this.#replies.length >= REPLIES_MAX) this.#replies.shift();
    if (encoded.ok) this.#replies.push({ identity, frame: encoded.frame });
    if (!this.#pumping) this.#pump = this.#run();
  }

  #envelope(request: number, answer: ControlAnswer): Envelope {
    const { ok, result = null } = answer;
    return {
      from: { id: this.#options.id, inc: 0 },
      to: { id: '', inc: 0 },
      message: { type: 'CONTROL_ACK', request, ok, result },
    };
  }

  async #run(): Promise<void> {
    this.#pumping = true;
    for (let reply = this.#replies.shift(); reply; reply = this.#replies.shift()) {
      await this.#options.write(reply.identity, reply.frame);
    }
    this.#pumping = false;
  }

  /** Resolves once every answer given so far is written. */
  async drained(): Promise<void> {
    while (this.#pumping) await this.#pump;
  }

  /** Forgets what waits. */
  close(): void {
    for (const timer of this.#pending) clearTimeout(timer);
    this.#pending.clear();
    this.#replies.length = 0;
  }
}
