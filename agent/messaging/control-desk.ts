// Receives commands from command-line tools and sends the responses. A tool has no agent
// identifier, so it is addressed by the identity of its connection. The number of pending commands
// and responses is limited, and so is the time for a response. Many tools, or tools that never read,
// therefore cannot exhaust memory.

import type {
  AgentId,
  ControlVerb,
  Envelope,
  MemberCard,
  Message,
} from '../core/protocol/messages.ts';
import { CONTROL_PENDING_MAX, CONTROL_REPLY_MAX_MS, REPLIES_MAX } from './checks/limits.ts';
import { encodeEnvelope } from './codec.ts';
import type { RefusedFrame } from './refusals.ts';

export interface ControlRequest {
  readonly verb: ControlVerb;
  readonly args: readonly string[];
  /** Name of the crawl; absent: any crawl. */
  readonly crawl?: string;
  /** The agents to forward it to; absent: the members. */
  readonly to?: readonly MemberCard[];
}

/** `result` is any JSON value; if not `ok`, a sentence for the user. */
export interface ControlAnswer {
  readonly ok: boolean;
  readonly result: unknown;
}

/** Responds to the command; only the first call has an effect. */
export type ControlReply = (answer: ControlAnswer) => void;

type Control = Extract<Message, { type: 'CONTROL' }>;

export interface ControlDeskOptions {
  readonly id: AgentId;
  /** Whether only this machine can reach the agent; otherwise commands are refused. */
  readonly loopback: boolean;
  onControl(request: ControlRequest, reply: ControlReply): void;
  onRefused(refused: RefusedFrame): void;
  /** Writes to a connection; a closed connection is ignored. */
  write(identity: Uint8Array, frame: Uint8Array): Promise<void>;
}

export class ControlDesk {
  readonly #options: ControlDeskOptions;
  /** Deadlines of open commands, at most `CONTROL_PENDING_MAX`; a response removes its own. */
  readonly #pending = new Set<NodeJS.Timeout>();
  /** Called when no command is open. */
  #settled = () => {};
  /** Responses to write, at most `REPLIES_MAX`. Filled by `#answer`, emptied by `#run`. */
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

  /** Handles a command from the connection `identity`. */
  accept(identity: Uint8Array, control: Control): void {
    const { request, verb, args, crawl, to } = control;
    if (!this.#options.loopback) {
      const detail = 'commands are accepted on a loopback address only';
      this.#options.onRefused({ code: 'control_remote', detail });
      this.#answer(identity, request, { ok: false, result: `refused: ${detail}` });
      return;
    }
    if (this.#pending.size >= CONTROL_PENDING_MAX) {
      const detail = `${CONTROL_PENDING_MAX} commands are already waiting`;
      this.#options.onRefused({ code: 'control_busy', detail });
      this.#answer(identity, request, { ok: false, result: `busy: ${detail}` });
      return;
    }
    const settle: ControlReply = (answer) => {
      if (!this.#pending.delete(timer)) return;
      clearTimeout(timer);
      this.#answer(identity, request, answer);
      if (this.#pending.size === 0) this.#settled();
    };
    const late = { ok: false, result: 'the agent did not respond in time' };
    const timer = setTimeout(() => settle(late), CONTROL_REPLY_MAX_MS);
    timer.unref();
    this.#pending.add(timer);
    const command = { verb, args, ...(crawl !== undefined && { crawl }), ...(to && { to }) };
    this.#options.onControl(command, settle);
  }

  #answer(identity: Uint8Array, request: number, answer: ControlAnswer): void {
    let encoded = encodeEnvelope(this.#envelope(request, answer));
    if (!encoded.ok) {
      const result = `the response has ${encoded.bytes} bytes, too many to send`;
      encoded = encodeEnvelope(this.#envelope(request, { ok: false, result }));
    }
    // Drops the oldest response: its tool is the most likely to have ended.
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

  /** Resolves when every open command has its response, and all responses are written. */
  async drained(): Promise<void> {
    if (this.#pending.size > 0) {
      await new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
    }
    while (this.#pumping) await this.#pump;
  }

  /** Discards open commands and unsent responses. */
  close(): void {
    for (const timer of this.#pending) clearTimeout(timer);
    this.#pending.clear();
    this.#replies.length = 0;
  }
}
