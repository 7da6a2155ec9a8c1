// Forwards a command to other agents and collects their answers. An agent that does not answer in time
// is silent. An agent outside the view is told how to answer, and its link is closed afterwards,
// because an agent has a limited number of links.

import type { AgentId, ControlVerb, MemberCard, Message } from '../core/protocol/messages.ts';

/** Time for the agents to answer; shorter than the deadline of the command-line tool. */
const ANSWER_MS_MAX = 1500;
/** Commands that wait for answers at the same time, to bound the memory that they use. */
const PENDING_MAX = 256;

export interface Forwarded {
  readonly verb: ControlVerb;
  readonly args: readonly string[];
  /** Present if the receivers need not have this agent in their views. */
  readonly sender?: { readonly address: string; readonly fingerprintHash: string };
}

export interface ForwardingParts {
  readonly isMember: (id: AgentId) => boolean;
  readonly send: (to: MemberCard, message: Message) => void;
  /** Closes the link to an agent. */
  readonly forget: (id: AgentId) => void;
  readonly after: (ms: number, act: () => void) => void;
  /** A number that other processes cannot guess. */
  readonly secret: () => number;
}

/** Receives the answers, and the agents that did not answer in time. */
type Done = (results: Map<AgentId, unknown>, silent: ReadonlySet<AgentId>) => void;

/** One agent that has not answered a command. */
interface Pending {
  readonly id: AgentId;
  readonly answered: (result: unknown) => void;
}

export class Forwarding {
  readonly #p: ForwardingParts;
  /** By the number of the request: only the agent that was asked knows it. */
  readonly #pending = new Map<number, Pending>();
  /** Commands that wait for answers. */
  #open = 0;

  constructor(parts: ForwardingParts) {
    this.#p = parts;
  }

  get isFull(): boolean {
    return this.#open >= PENDING_MAX;
  }

  send(others: readonly MemberCard[], command: Forwarded, done: Done): void {
    const results = new Map<AgentId, unknown>();
    const expected = new Set(others.map(({ id }) => id));
    const requests: number[] = [];
    let isOpen = true;
    this.#open++;
    const finish = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#open--;
      for (const request of requests) this.#pending.delete(request);
      for (const { id } of command.sender ? others : []) {
        if (!this.#p.isMember(id)) this.#p.forget(id);
      }
      done(results, expected);
    };
    for (const other of others) {
      const { id } = other;
      const request = this.#p.secret();
      requests.push(request);
      const answered = (result: unknown) => {
        expected.delete(id);
        results.set(id, result);
        if (expected.size === 0) finish();
      };
      this.#pending.set(request, { id, answered });
      this.#p.send(other, { type: 'CONTROL', request, ...command });
    }
    if (expected.size === 0) return finish();
    this.#p.after(ANSWER_MS_MAX, finish);
  }

  answered(by: AgentId, request: number, result: unknown): void {
    const pending = this.#pending.get(request);
    if (pending?.id !== by) return;
    this.#pending.delete(request);
    pending.answered(result);
  }
}
