// Commands to the whole cluster, by way of one agent: a command-line tool asks any agent, which
// carries the command out itself, forwards it to the others and answers with what each said. An
// agent that does not answer in time is named as unreachable, never left out. Composed of core and
// transport by agent.ts.

import type { ControlVerb, Envelope, MemberCard, Message } from './core/messages.ts';
import type { ControlAnswer, ControlReply, ControlRequest } from './messaging/control-desk.ts';

/** How long the others may take; the command-line tool waits a little longer for the sum. */
const ANSWER_MS_MAX = 1500;
/** Commands that wait for the others at the same time. */
const PENDING_MAX = 256;

export interface ControlParts {
  readonly id: string;
  readonly members: () => readonly MemberCard[];
  /** Carries the verb out on this agent; the result is JSON. */
  readonly apply: (verb: ControlVerb, args: readonly string[]) => unknown;
  readonly send: (to: MemberCard, message: Message) => void;
  readonly after: (ms: number, act: () => void) => void;
}

interface Pending {
  readonly results: Map<string, unknown>;
  readonly expected: Set<string>;
  readonly done: () => void;
}

export class ControlRoom {
  readonly #p: ControlParts;
  readonly #pending = new Map<number, Pending>();
  #last = 0;

  constructor(parts: ControlParts) {
    this.#p = parts;
  }

  /** A command of a command-line tool. */
  onCommand({ verb, args }: ControlRequest, reply: ControlReply): void {
    if (this.#pending.size >= PENDING_MAX) {
      return reply({ ok: false, result: 'too many commands at once; try again' });
    }
    const others = this.#p.members().filter(({ id }) => concerns(verb, args, id));
    const request = ++this.#last;
    const results = new Map<string, unknown>();
    const expected = new Set(others.map(({ id }) => id));
    const done = () => {
      if (!this.#pending.delete(request)) return;
      // Itself last: leaving or stopping ends the agent that still has to answer.
      if (concerns(verb, args, this.#p.id)) {
        results.set(this.#p.id, this.#p.apply(verb, args));
      }
      reply(summary(verb, args, results, expected));
    };
    this.#pending.set(request, { results, expected, done });
    for (const member of others) {
      this.#p.send(member, { type: 'CONTROL', request, verb, args });
    }
    if (expected.size === 0) return done();
    this.#p.after(ANSWER_MS_MAX, done);
  }

  /** A command forwarded by a member, or a member's answer to one. */
  onMemberMessage(envelope: Envelope): void {
    const { from, message } = envelope;
    const member = this.#p.members().find(({ id, inc }) => id === from.id && inc === from.inc);
    if (!member) return;
    if (message.type === 'CONTROL') {
      const { request, verb, args } = message;
      const result = this.#p.apply(verb, args);
      this.#p.send(member, { type: 'CONTROL_ACK', request, ok: true, result });
    } else if (message.type === 'CONTROL_ACK') {
      const pending = this.#pending.get(message.request);
      if (!pending?.expected.delete(from.id)) return;
      pending.results.set(from.id, message.result);
      if (pending.expected.size === 0) pending.done();
    }
  }
}

/** `leave` concerns the agents it names, everything else all. */
function concerns(verb: ControlVerb, args: readonly string[], id: string): boolean {
  return verb !== 'leave' || args.includes(id);
}

function summary(
  verb: ControlVerb,
  args: readonly string[],
  results: ReadonlyMap<string, unknown>,
  silent: ReadonlySet<string>,
): ControlAnswer {
  if (verb === 'status') {
    return { ok: true, result: { agents: [...results.values()], unreachable: [...silent] } };
  }
  const said: Record<string, unknown> = Object.fromEntries(results);
  for (const id of [...silent, ...args]) said[id] ??= 'unreachable';
  return { ok: true, result: said };
}
