// Commands to the whole cluster. A command-line tool connects to any agent, which executes the
// command, forwards it to the other members and returns all results. A member that does not answer
// in time is reported as unreachable. A directive is numbered once, by the agent that receives it,
// so that all members store the same record. `explain` is forwarded only to the owner of the host.
//
// In a partial view the tool walks from agent to agent through one of them: it names the agents to
// forward the command to (`to`), and the response names the agents that these know.

import type { Instant } from '../../failure-detector/instant.ts';
import type { Whereabouts } from '../core/membership/whereabouts.ts';
import type { DirectiveReceipt, Operator, SeedReceipt } from '../core/operator/operator.ts';
import type { DirectiveInForce } from '../core/protocol/directives.ts';
import type {
  ControlVerb,
  Directive,
  Envelope,
  MemberCard,
  Message,
  UrlItem,
} from '../core/protocol/messages.ts';
import type { CoreSnapshot } from '../core/snapshot.ts';
import { isRecord } from '../messaging/checks/shape.ts';
import { cardsOf } from '../messaging/checks/walk-checks.ts';
import type { ControlReply, ControlRequest } from '../messaging/control-desk.ts';
import {
  type DirectiveAnswer,
  directiveOf,
  directiveSummary,
  directiveText,
  parseDirective,
} from '../messaging/control-directives.ts';
import type { Identity, RequestForm } from '../url/crawl-url.ts';
import { splitIdentity } from '../url/url-key.ts';
import { Forwarding } from './forwarding.ts';

type Control = Extract<Message, { type: 'CONTROL' }>;

/** `explain` waits for a look-up of the owner, and orders for the join: so many times, so long. */
const WAITS_MAX = 15;
const WAIT_MS = 100;
/** Members and contacts that one step of a walk names: 2 MB, and half of what a message may hold. */
const NAMED_MAX = 8192;

export interface ControlParts {
  readonly id: string;
  /** The name of the crawl; commands for another crawl are refused. */
  readonly crawl: string;
  readonly whereabouts: Pick<
    Whereabouts,
    'isPartial' | 'isMember' | 'fingerprintHash' | 'me' | 'members' | 'contacts' | 'ownerCard'
  >;
  readonly status: () => Pick<CoreSnapshot, 'capacity' | 'members'>;
  /** Directives in force. */
  readonly directives: () => readonly DirectiveInForce[];
  readonly leave: () => void;
  readonly stop: () => void;
  /** Runs `act` in a turn of the agent's loop. */
  readonly operate: (act: (operator: Operator, now: Instant) => void) => void;
  /** Parses a seed; `refused` is the reason why it cannot be crawled. */
  readonly seedOf: (text: string) => UrlItem | { readonly refused: string };
  /** The facts of this agent's state file about a URL, as JSON. */
  readonly explain: (identity: Identity, form: RequestForm) => unknown;
  /** `isBrief`: over a short-lived link. */
  readonly send: (to: MemberCard, message: Message, isBrief?: boolean) => void;
  /** Closes the link to an agent. */
  readonly forget: (id: string) => void;
  readonly after: (ms: number, act: () => void) => void;
  /** A number that other processes cannot guess. */
  readonly secret: () => number;
  /** The highest plausible incarnation. */
  readonly incarnationMax: () => number;
}

/** The answer to `leave`, after the agent's identifier. */
const LAST_OWNER =
  'is the only agent that takes hosts; undrain another one, or stop all agents: a launch continues';

/** The agents that an agent knows. Contacts are outside its view, and some may be gone. */
export interface Acquaintances {
  readonly members: readonly MemberCard[];
  readonly contacts: readonly MemberCard[];
}

/** The response to one step of a walk: the results of the agents that the tool has named. */
export interface WalkStep extends Acquaintances {
  /** The agent that was asked. */
  readonly me: MemberCard;
  readonly results: Readonly<Record<string, unknown>>;
  readonly silent: readonly string[];
  /** Of `status`: the directives in force. */
  readonly orders?: readonly DirectiveInForce[];
  /** The directive that the agent has numbered, to be forwarded with `order`. */
  readonly order?: string;
}

export class ControlRoom {
  readonly #p: ControlParts;
  readonly #forwarding: Forwarding;

  constructor(parts: ControlParts) {
    this.#p = parts;
    const isMember = (id: string) => this.#members().some((member) => member.id === id);
    this.#forwarding = new Forwarding({ ...parts, isMember });
  }

  #members(): readonly MemberCard[] {
    return this.#p.whereabouts.members();
  }

  /** Handles a command of a command-line tool. */
  onCommand({ verb, args, crawl, to }: ControlRequest, reply: ControlReply): void {
    if (crawl !== undefined && crawl !== this.#p.crawl) {
      return reply({ ok: false, result: { crawl: this.#p.crawl } });
    }
    if (this.#forwarding.isFull) {
      return reply({ ok: false, result: 'too many commands at once; try again' });
    }
    if (to) return this.#walk(verb, args, to, reply);
    switch (verb) {
      case 'status':
        return this.#tellAll(verb, args, reply);
      case 'seed':
        return this.#seed(args, reply);
      case 'explain':
        return this.#explain(args, reply);
      default:
        // An agent that joins, or joins again, would tell only itself.
        this.#whenMember(() => this.#order(verb, args, reply));
    }
  }

  /** Calls back once this agent is a member, or after some time. */
  #whenMember(act: () => void, waits = WAITS_MAX): void {
    if (this.#p.whereabouts.isMember || waits === 0) return act();
    this.#p.after(WAIT_MS, () => this.#whenMember(act, waits - 1));
  }

  #order(verb: ControlVerb, args: readonly string[], reply: ControlReply): void {
    if (verb === 'leave' || verb === 'stop') return this.#tellAll(verb, args, reply);
    this.#directive(verb, args, reply);
  }

  #tellAll(verb: ControlVerb, args: readonly string[], reply: ControlReply): void {
    const others = this.#members().filter(({ id }) => concerns(verb, args, id));
    this.#forwarding.send(others, { verb, args }, (results, silent) => {
      // This agent is last: once it leaves or stops, it cannot reply any more.
      if (concerns(verb, args, this.#p.id)) results.set(this.#p.id, this.#apply(verb, args));
      const answer = summary(verb, args, results, silent);
      if (verb !== 'status') return reply({ ok: true, result: answer });
      reply({ ok: true, result: { ...answer, orders: this.#p.directives() } });
    });
  }

  #apply(verb: ControlVerb, args: readonly string[]): unknown {
    if (verb === 'status') return this.#p.status();
    if (verb === 'leave' && this.#isLastOwner(args)) return LAST_OWNER;
    if (verb === 'leave') this.#p.leave();
    else this.#p.stop();
    return 'applied';
  }

  /**
   * Whether agents stay that would wait for work: none of them takes hosts. An agent whose others all
   * leave may leave, too: its hosts stay in its state file, as they do when all stop.
   */
  #isLastOwner(leaving: readonly string[]): boolean {
    const { capacity: own, members } = this.#p.status();
    const stay = members.filter(
      ({ id, leaving: isLeaving }) => !isLeaving && !leaving.includes(id),
    );
    return own > 0 && stay.length > 0 && stay.every(({ capacity }) => capacity === 0);
  }

  /** Executes the command at the agents that the tool names, and returns the agents they know. */
  #walk(
    verb: ControlVerb,
    args: readonly string[],
    to: readonly MemberCard[],
    reply: ControlReply,
  ): void {
    const { id, whereabouts } = this.#p;
    const { me, fingerprintHash } = whereabouts;
    const sender = { address: me.address, fingerprintHash };
    const isMine = to.some((card) => card.id === id);
    const others = to.filter((card) => card.id !== id).flatMap((card) => this.#reached(card));
    this.#forwarding.send(others, { verb, args, sender }, (answers, silent) => {
      const results = new Map<string, unknown>();
      const known = [this.#acquaintances()];
      for (const [by, answer] of answers) {
        const its = isRecord(answer) ? answer : {};
        results.set(by, its.result ?? null);
        known.push(this.#named(its));
      }
      const step = (more: Pick<WalkStep, 'order'> = {}) => {
        const orders = verb === 'status' && { orders: this.#p.directives() };
        const said = { results: Object.fromEntries(results), silent: [...silent] };
        reply({ ok: true, result: { me, ...said, ...union(known), ...orders, ...more } });
      };
      const mine = (result: unknown) => results.set(id, result);
      const what = directiveOf(verb, args);
      if (!isMine) return step();
      if (typeof what === 'string') {
        return this.#execute(verb, args, (result) => {
          mine(result);
          step();
        });
      }
      this.#give(what, reply, (receipt) => {
        mine(answerOf(receipt));
        step({ order: directiveText(receipt.directive) });
      });
    });
  }

  /** A claim of others must not redirect the link to a member, nor lead to a socket file. */
  #reached(card: MemberCard): MemberCard[] {
    const member = this.#members().find(({ id }) => id === card.id);
    if (member) return [member];
    return card.address.startsWith('tcp://') ? [card] : [];
  }

  #acquaintances(): Acquaintances {
    return { members: this.#members(), contacts: this.#p.whereabouts.contacts() };
  }

  /** The agents that another one knows, as far as its answer is valid: it may be any JSON. */
  #named({ members, contacts }: Readonly<Record<string, unknown>>): Acquaintances {
    const max = this.#p.incarnationMax();
    return { members: cardsOf(members, max), contacts: cardsOf(contacts, max) };
  }

  /** Stores a directive here before it is forwarded. Unreached members get it with heartbeats. */
  #directive(verb: ControlVerb, args: readonly string[], reply: ControlReply): void {
    const what = directiveOf(verb, args);
    if (typeof what === 'string') return reply({ ok: false, result: what });
    this.#give(what, reply, (receipt) => {
      const command = { verb: 'order', args: [directiveText(receipt.directive)] } as const;
      this.#forwarding.send(this.#members(), command, (results, silent) => {
        results.set(this.#p.id, answerOf(receipt));
        reply({ ok: true, result: directiveSummary(results, silent) });
      });
    });
  }

  #give(
    what: Pick<Directive, 'kind' | 'host' | 'value'>,
    reply: ControlReply,
    given: (receipt: Extract<DirectiveReceipt, { ok: true }>) => void,
  ): void {
    const tell = (receipt: DirectiveReceipt) => {
      if (receipt.ok) given(receipt);
      else reply({ ok: false, result: receipt.why });
    };
    this.#p.operate((operator, now) => operator.give(what, now, tell));
  }

  /** Replies for each text: its URL and owner (null while unconfirmed), or why it is refused. */
  #seed(texts: readonly string[], reply: ControlReply): void {
    // A text may be the name of a property that every object has.
    const said = new Map<string, unknown>();
    const items = new Map<string, UrlItem>();
    for (const text of texts) {
      const item = this.#p.seedOf(text);
      if ('refused' in item) said.set(text, { refused: item.refused });
      else items.set(text, item);
    }
    const answer = () => reply({ ok: true, result: Object.fromEntries(said) });
    if (items.size === 0) return answer();
    const done = (receipt: SeedReceipt) => {
      if (!receipt.ok) return reply({ ok: false, result: receipt.why });
      for (const [text, { url }] of items) {
        said.set(text, { url, owner: receipt.owners[url] ?? null });
      }
      answer();
    };
    const seeds = [...items.values()];
    this.#p.operate((operator, now) => operator.seed(seeds, now, done));
  }

  #explain(args: readonly string[], reply: ControlReply, tries = WAITS_MAX): void {
    const [identity = '', form = identity] = args;
    const { id, whereabouts, after, explain } = this.#p;
    const split = splitIdentity(identity);
    if (!split) return reply({ ok: false, result: `not a canonical URL: ${identity}` });
    const owner = whereabouts.ownerCard(split.host);
    if (!owner && whereabouts.isPartial && tries > 0) {
      return after(WAIT_MS, () => this.#explain(args, reply, tries - 1));
    }
    if (!owner || owner.id === id) {
      const facts = explain(identity, form);
      return reply({
        ok: true,
        result: { owner: owner || !whereabouts.isPartial ? id : null, facts },
      });
    }
    const { me, fingerprintHash } = whereabouts;
    const isFar = whereabouts.isPartial && { sender: { address: me.address, fingerprintHash } };
    const command = { verb: 'explain', args: [identity, form], ...isFar } as const;
    this.#forwarding.send([owner], command, (results) => {
      const answer = results.get(owner.id) ?? null;
      const far = isRecord(answer) ? (answer.result ?? null) : null;
      reply({ ok: true, result: { owner: owner.id, facts: isFar ? far : answer } });
    });
  }

  /** Handles a command that an agent has forwarded, or an agent's answer. */
  onMemberMessage(envelope: Envelope): void {
    const { from, message } = envelope;
    const member = this.#members().find(({ id, inc }) => id === from.id && inc === from.inc);
    if (message.type === 'CONTROL') this.#onForwarded(envelope, member, message);
    else if (message.type === 'CONTROL_ACK') {
      // A new capacity begins an incarnation that is not known here yet. The request is a secret.
      this.#forwarding.answered(from.id, message.request, message.result);
    }
  }

  /** @param member - the sender; undefined: it is not in view */
  #onForwarded({ from, to }: Envelope, member: MemberCard | undefined, message: Control): void {
    const { request, verb, args, sender } = message;
    const card = member ?? this.#stranger(from, to, sender);
    if (!card) return;
    this.#execute(verb, args, (result) => {
      const answer = sender ? { result, ...this.#acquaintances() } : result;
      this.#p.send(card, { type: 'CONTROL_ACK', request, ok: true, result: answer }, !member);
    });
  }

  /** In a partial view the sender may not be known, but it has the settings of this cluster. */
  #stranger(
    from: Envelope['from'],
    to: Envelope['to'],
    sender: Control['sender'],
  ): MemberCard | undefined {
    const { isPartial, fingerprintHash } = this.#p.whereabouts;
    if (!isPartial || to.id !== this.#p.id) return undefined;
    if (sender?.fingerprintHash !== fingerprintHash) return undefined;
    return this.#reached({ ...from, capacity: 1, address: sender.address })[0];
  }

  /** Executes a forwarded command at this agent. */
  #execute(verb: ControlVerb, args: readonly string[], answer: (result: unknown) => void): void {
    switch (verb) {
      case 'order': {
        const directive = parseDirective(args[0] ?? '');
        if (!directive) return answer({ said: 'not a valid directive', hosts: 0 });
        const taken = (receipt: DirectiveReceipt) => answer(answerOf(receipt));
        return this.#p.operate((operator, now) => operator.take(directive, now, taken));
      }
      case 'explain': {
        const [identity = '', form = identity] = args;
        return answer(splitIdentity(identity) ? this.#p.explain(identity, form) : null);
      }
      case 'status':
      case 'leave':
      case 'stop':
        return answer(this.#apply(verb, args));
      default:
        // Other commands are never forwarded under their own verb.
        return answer('not understood');
    }
  }
}

function answerOf(receipt: DirectiveReceipt): DirectiveAnswer {
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

/** The agents that any of these know, at most `NAMED_MAX`. The latest incarnation of each counts. */
function union(all: readonly Acquaintances[]): Acquaintances {
  const unionOf = (lists: readonly (readonly MemberCard[])[], max: number) => {
    const cards = new Map<string, MemberCard>();
    for (const card of lists.flat()) {
      if (card.inc >= (cards.get(card.id)?.inc ?? 0)) cards.set(card.id, card);
    }
    return [...cards.values()].slice(0, max);
  };
  const members = unionOf(
    all.map((one) => one.members),
    NAMED_MAX / 2,
  );
  const contacts = unionOf(
    all.map((one) => one.contacts),
    NAMED_MAX - members.length,
  );
  return { members, contacts };
}
