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
}

/** Receives the answers, and the agents that did not answer in time. */
type Done = (results: Map<AgentId, unknown>, silent: ReadonlySet<AgentId>) => void;

interface Pending {
  readonly results: Map<AgentId, unknown>;
  readonly expected: Set<AgentId>;
  readonly done: () => void;
}

export class Forwarding {
  readonly #p: ForwardingParts;
  readonly #pending = new Map<number, Pending>();
  #last = 0;

  constructor(parts: ForwardingParts) {
    this.#p = parts;
  }

  get isFull(): boolean {
    return this.#pending.size >= PENDING_MAX;
  }

  send(others: readonly MemberCard[], command: Forwarded, done: Done): void {
    const request = ++this.#last;
    const results = new Map<AgentId, unknown>();
    const expected = new Set(others.map(({ id }) => id));
    const finish = () => {
      if (!this.#pending.delete(request)) return;
      for (const { id } of command.sender ? others : []) {
        if (!this.#p.isMember(id)) this.#p.forget(id);
      }
      done(results, expected);
    };
    this.#pending.set(request, { results, expected, done: finish });
    for (const other of others) this.#p.send(other, { type: 'CONTROL', request, ...command });
    if (expected.size === 0) return finish();
    this.#p.after(ANSWER_MS_MAX, finish);
  }

  answered(by: AgentId, request: number, result: unknown): void {
    const pending = this.#pending.get(request);
    if (!pending?.expected.delete(by)) return;
    pending.results.set(by, result);
    if (pending.expected.size === 0) pending.done();
  }
}
