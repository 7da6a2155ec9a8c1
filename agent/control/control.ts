// Commands to the whole cluster. A command-line tool connects to any agent, which executes the
// command, forwards it to the other members and returns all results. A member that does not answer
// in time is reported as unreachable. A directive is numbered once, by the agent that receives it,
// so that all members store the same record. `explain` is forwarded only to the owner of the host.

import type { Instant } from '../../failure-detector/instant.ts';
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

/** Time for the members to answer; shorter than the deadline of the command-line tool. */
const ANSWER_MS_MAX = 1500;
/** Commands that wait for answers at the same time, to bound the memory that they use. */
const PENDING_MAX = 256;

export interface ControlParts {
  readonly id: string;
  /** The name of the crawl; commands for another crawl are refused. */
  readonly crawl: string;
  readonly members: () => readonly MemberCard[];
  /** Null if no agent owns the host. */
  readonly ownerOf: (host: string) => string | null;
  readonly status: () => unknown;
  /** Directives in force. */
  readonly orders: () => readonly OrderInForce[];
  readonly leave: () => void;
  readonly stop: () => void;
  /** Runs `act` in a turn of the agent's loop. */
  readonly operate: (act: (operator: Operator, now: Instant) => void) => void;
  /** Parses a seed; `refused` is the reason why it cannot be crawled. */
  readonly seedOf: (text: string) => UrlItem | { readonly refused: string };
  /** The facts of this agent's state file about a URL, as JSON. */
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

  /** Handles a command of a command-line tool. */
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
      // This agent is last: once it leaves or stops, it cannot reply any more.
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

  /** Forwards a command; `done` receives the results and the agents that did not answer in time. */
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

  /** Stores a directive here before it is forwarded. Unreached members get it with heartbeats. */
  #order(verb: ControlVerb, args: readonly string[], reply: ControlReply): void {
    const what = orderOf(verb, args);
    if (typeof what === 'string') return reply({ ok: false, result: what });
    const given = (receipt: OrderReceipt) => {
      if (!receipt.ok) return reply({ ok: false, result: receipt.why });
      const stamped = [wordOfOrder(receipt.order)];
      this.#forward(this.#p.members(), 'order', stamped, (results, silent) => {
        results.set(this.#p.id, answerOf(receipt));
        reply({ ok: true, result: orderSummary(results, silent) });
      });
    };
    this.#p.operate((operator, now) => operator.give(what, now, given));
  }

  /** Replies for each text: its URL and owner (null while unconfirmed), or why it is refused. */
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

  /** Handles a command that a member has forwarded, or a member's answer. */
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
        if (!order) return answer({ said: 'not a valid directive', hosts: 0 });
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
        // Other commands are never forwarded under their own verb.
        return answer('not understood');
    }
  }
}

function answerOf(receipt: OrderReceipt): OrderAnswer {
  if (!receipt.ok) return { said: receipt.why, hosts: 0 };
  const { hosts, stillBlockedBy } = receipt;
  return { said: 'applied', hosts, ...(stillBlockedBy !== undefined && { stillBlockedBy }) };
}

/** `leave` concerns the agents that it names; other commands concern all agents. */
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
