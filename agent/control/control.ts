// Commands to the whole cluster, by way of one agent: a command-line tool asks any agent, which
// carries the command out itself, forwards it to the others and answers with what each said. An
// agent that does not answer in time is named as unreachable, never left out. An order is stamped
// here once and forwarded as stamped, so that all hold the same word; a question about a URL goes
// to the owner of its host alone. Composed of core and transport by agent.ts.

import type { Operator, OrderReceipt, SeedReceipt } from '../core/operator/operator.ts';
import type {
  ControlVerb,
  Envelope,
  MemberCard,
  Message,
  UrlItem,
} from '../core/protocol/messages.ts';
import type { OrderInForce } from '../core/protocol/orders.ts';
import type { ControlReply, ControlRequest } from '../messaging/control-desk.ts';
import {
  type OrderAnswer,
  orderFromWord,
  orderOf,
  orderSummary,
  wordOfOrder,
} from '../messaging/control-orders.ts';
import type { Identity, RequestForm } from '../url/crawl-url.ts';
import { splitIdentity } from '../url/url-key.ts';

/** How long the others may take; the command-line tool waits a little longer for the sum. */
const ANSWER_MS_MAX = 1500;
/** Commands that wait for the others at the same time. */
const PENDING_MAX = 256;

/** Runs in a turn of the agent's loop. */
type Operate = (act: (operator: Operator, now: Parameters<Operator['give']>[1]) => void) => void;

export interface ControlParts {
  readonly id: string;
  /** The name of the crawl: commands that mean another one are refused. */
  readonly crawl: string;
  readonly members: () => readonly MemberCard[];
  /** Null where no agent is there to own it. */
  readonly ownerOf: (host: string) => string | null;
  readonly status: () => unknown;
  /** Those that are in force. */
  readonly orders: () => readonly OrderInForce[];
  readonly leave: () => void;
  readonly stop: () => void;
  readonly operate: Operate;
  /** A text as a URL to route, or why it cannot be one. */
  readonly seedOf: (text: string) => UrlItem | { readonly refused: string };
  /** What this agent's file has of a URL, as JSON. */
  readonly explain: (identity: Identity, form: RequestForm) => unknown;
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
  onCommand({ verb, args, crawl }: ControlRequest, reply: ControlReply): void {
    if (crawl !== undefined && crawl !== this.#p.crawl) {
      return reply({ ok: false, result: { crawl: this.#p.crawl } });
    }
    if (this.#pending.size >= PENDING_MAX) {
      return reply({ ok: false, result: 'too many commands at once; try again' });
    }
    switch (verb) {
      case 'status':
      case 'leave':
      case 'stop':
        return this.#tellAll(verb, args, reply);
      case 'seed':
        return this.#seed(args, reply);
      case 'explain':
        return this.#explain(args, reply);
      default:
        return this.#order(verb, args, reply);
    }
  }

  #tellAll(verb: ControlVerb, args: readonly string[], reply: ControlReply): void {
    const others = this.#p.members().filter(({ id }) => concerns(verb, args, id));
    this.#forward(others, verb, args, (results, silent) => {
      // Itself last: leaving or stopping ends the agent that still has to answer.
      if (concerns(verb, args, this.#p.id)) results.set(this.#p.id, this.#apply(verb));
      const answer = summary(verb, args, results, silent);
      if (verb !== 'status') return reply({ ok: true, result: answer });
      reply({ ok: true, result: { ...answer, orders: this.#p.orders() } });
    });
  }

  #apply(verb: ControlVerb): unknown {
    if (verb === 'status') return this.#p.status();
    if (verb === 'leave') this.#p.leave();
    else this.#p.stop();
    return 'applied';
  }

  /** Asks these and waits for them; `done` gets what they said, and who said nothing in time. */
  #forward(
    others: readonly MemberCard[],
    verb: ControlVerb,
    args: readonly string[],
    done: (results: Map<string, unknown>, silent: ReadonlySet<string>) => void,
  ): void {
    const request = ++this.#last;
    const results = new Map<string, unknown>();
    const expected = new Set(others.map(({ id }) => id));
    const finish = () => {
      if (this.#pending.delete(request)) done(results, expected);
    };
    this.#pending.set(request, { results, expected, done: finish });
    for (const member of others) {
      this.#p.send(member, { type: 'CONTROL', request, verb, args });
    }
    if (expected.size === 0) return finish();
    this.#p.after(ANSWER_MS_MAX, finish);
  }

  /** Obeyed here and on this disk first; who is not reached now hears of it with heartbeats. */
  #order(verb: ControlVerb, args: readonly string[], reply: ControlReply): void {
    const what = orderOf(verb, args);
    if (typeof what === 'string') return reply({ ok: false, result: what });
    const given = (receipt: OrderReceipt) => {
      if (!receipt.ok) return reply({ ok: false, result: receipt.why });
      const words = [wordOfOrder(receipt.order)];
      this.#forward(this.#p.members(), 'order', words, (results, silent) => {
        results.set(this.#p.id, answerOf(receipt));
        reply({ ok: true, result: orderSummary(results, silent) });
      });
    };
    this.#p.operate((operator, now) => operator.give(what, now, given));
  }

  /** Answers by URL as given: which agent has it, that it is on its way, or why it is refused. */
  #seed(texts: readonly string[], reply: ControlReply): void {
    const said: Record<string, unknown> = {};
    const items = new Map<string, UrlItem>();
    for (const text of texts) {
      const item = this.#p.seedOf(text);
      if ('refused' in item) said[text] = { refused: item.refused };
      else items.set(text, item);
    }
    if (items.size === 0) return reply({ ok: true, result: said });
    const done = (receipt: SeedReceipt) => {
      if (!receipt.ok) return reply({ ok: false, result: receipt.why });
      for (const [text, { url }] of items) said[text] = { url, owner: receipt.owners[url] ?? null };
      reply({ ok: true, result: said });
    };
    const seeds = [...items.values()];
    this.#p.operate((operator, now) => operator.seed(seeds, now, done));
  }

  #explain([identity = '', form = identity]: readonly string[], reply: ControlReply): void {
    const split = splitIdentity(identity);
    if (!split) return reply({ ok: false, result: `not a canonical URL: ${identity}` });
    const owner = this.#p.ownerOf(split.host) ?? this.#p.id;
    const members = this.#p.members().filter(({ id }) => id === owner);
    if (members.length === 0) {
      return reply({ ok: true, result: { owner, facts: this.#p.explain(identity, form) } });
    }
    this.#forward(members, 'explain', [identity, form], (results) => {
      reply({ ok: true, result: { owner, facts: results.get(owner) ?? null } });
    });
  }

  /** A command forwarded by a member, or a member's answer to one. */
  onMemberMessage(envelope: Envelope): void {
    const { from, message } = envelope;
    const member = this.#p.members().find(({ id, inc }) => id === from.id && inc === from.inc);
    if (!member) return;
    if (message.type === 'CONTROL') this.#onForwarded(member, message);
    else if (message.type === 'CONTROL_ACK') {
      const pending = this.#pending.get(message.request);
      if (!pending?.expected.delete(from.id)) return;
      pending.results.set(from.id, message.result);
      if (pending.expected.size === 0) pending.done();
    }
  }

  #onForwarded(member: MemberCard, message: Extract<Message, { type: 'CONTROL' }>): void {
    const { request, verb, args } = message;
    const answer = (result: unknown) =>
      this.#p.send(member, { type: 'CONTROL_ACK', request, ok: true, result });
    switch (verb) {
      case 'order': {
        const order = orderFromWord(args[0] ?? '');
        if (!order) return answer({ said: 'not an order', hosts: 0 });
        const taken = (receipt: OrderReceipt) => answer(answerOf(receipt));
        return this.#p.operate((operator, now) => operator.take(order, now, taken));
      }
      case 'explain': {
        const [identity = '', form = identity] = args;
        return answer(splitIdentity(identity) ? this.#p.explain(identity, form) : null);
      }
      case 'status':
      case 'leave':
      case 'stop':
        return answer(this.#apply(verb));
      default:
        // Forwarded only as something else.
        return answer('not understood');
    }
  }
}

function answerOf(receipt: OrderReceipt): OrderAnswer {
  if (!receipt.ok) return { said: receipt.why, hosts: 0 };
  const { hosts, stillBlockedBy } = receipt;
  return { said: 'applied', hosts, ...(stillBlockedBy !== undefined && { stillBlockedBy }) };
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
): Record<string, unknown> {
  if (verb === 'status') return { agents: [...results.values()], unreachable: [...silent] };
  const said: Record<string, unknown> = Object.fromEntries(results);
  for (const id of [...silent, ...args]) said[id] ??= 'unreachable';
  return said;
}
