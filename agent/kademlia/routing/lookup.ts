// The iterative look-up of Kademlia, FIND_NODE and FIND_VALUE (Maymounkov and Mazières 2002, section
// 2.3), as a state machine. It asks the nearest known agents for nearer ones until the nearest
// have all answered. Answers may be wrong or hostile: each is cut to `bucketSize` contacts, a named
// agent is believed only when it answers itself, and the number of requests has a maximum.

import type { Key } from '../../../assignment/identifiers.ts';
import { type Contact, distanceTo, type IdentifiersOf } from './contact.ts';

export interface LookupOptions {
  readonly key: Key;
  /** The nearest contacts of the routing table. */
  readonly start: readonly Contact[];
  /** Name of this agent, which is never asked. */
  readonly self: string;
  readonly identifiersOf: IdentifiersOf;
  /** Agents to find: *k* in the paper. */
  readonly bucketSize: number;
  /** The look-up ends when so many of the nearest have answered; default: `bucketSize`. */
  readonly wanted?: number;
  /** Requests at a time while the answers bring nearer agents: *alpha* in the paper. */
  readonly concurrency: number;
  /** Time after which an agent that was asked counts as failed. */
  readonly timeoutMs: number;
  /** `value`: an answer with the value ends the look-up. */
  readonly purpose: 'node' | 'value';
}

interface Ended {
  /** Length of the chain of answers that led to the nearest agent, or to the value. */
  readonly hops: number;
  /** Requests sent. */
  readonly messages: number;
}

export interface NearestFound extends Ended {
  readonly kind: 'nearest';
  /** The agents that answered, the nearest first; at most `bucketSize`. */
  readonly nearest: readonly Contact[];
  /** False if the requests reached their maximum first. */
  readonly complete: boolean;
}

export interface ValueFound extends Ended {
  readonly kind: 'value';
  readonly value: string;
  /** The nearest agent that answered without the value, where a copy is to be stored. */
  readonly storeAt: Contact | null;
}

export type LookupResult = NearestFound | ValueFound;

export interface LookupStep {
  /** To be asked now. */
  readonly asks: readonly Contact[];
  /** They did not answer in time, at these addresses. */
  readonly failed: readonly Contact[];
}

/** Addresses tried for one agent: it may have moved, or one of the answers is false. */
const addressesMax = 3;
/**
 * Maximum number of requests, in multiples of `bucketSize`. A look-up needs about two, also with
 * many failed contacts; beyond ten it is being misled.
 */
const requestsFactor = 10;
/** Maximum number of named agents that wait to be asked, in multiples of `bucketSize`. */
const namedFactor = 5;

type State =
  | { readonly kind: 'named' }
  | { readonly kind: 'asked'; readonly sinceMs: number }
  | { readonly kind: 'answered' }
  /** It has answered, but cannot be the result. */
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed' };

interface Candidate {
  /** As it was named; as the agent describes itself once it has answered. */
  contact: Contact;
  distance: Key;
  /** Length of the chain of answers that ends with its own. */
  hop: number;
  state: State;
  /** In the order in which they were named, at most `addressesMax`. */
  readonly addresses: string[];
}

/** All times are monotonic. */
export class Lookup {
  readonly #o: LookupOptions;
  /**
   * By id. Filled by `start` and `answered`; those that were not asked are forgotten beyond
   * `namedFactor` × bucketSize, the farthest first. Bound: that and the maximum of requests.
   */
  readonly #candidates = new Map<string, Candidate>();
  /** The candidates that have neither failed nor been passed, the nearest first. */
  #order: Candidate[] = [];
  #messages = 0;
  /** The smallest distance of all agents ever named. */
  #nearest: Key | undefined;
  /** Answers and failures since one brought an agent that was nearer than all before. */
  #fruitless = 0;
  #result: LookupResult | null = null;

  constructor(options: LookupOptions) {
    this.#o = options;
    for (const contact of options.start) this.#name(contact, 1);
    this.#arrange();
  }

  /** Null until the look-up has ended. */
  get result(): LookupResult | null {
    return this.#result;
  }

  /** To be called after the start, after each answer and failure, and at `nextAtMs`. */
  next(now: number): LookupStep {
    if (this.#result !== null) return { asks: [], failed: [] };
    const late = this.#order.filter(
      ({ state }) => state.kind === 'asked' && now - state.sinceMs >= this.#o.timeoutMs,
    );
    const failed = late.map(({ contact }) => contact);
    for (const { id } of failed) this.failed(id);
    const asked = this.#toAsk();
    for (const candidate of asked) candidate.state = { kind: 'asked', sinceMs: now };
    this.#messages += asked.length;
    this.#endIfDone();
    return { asks: asked.map(({ contact }) => contact), failed };
  }

  /** When `next` must be called if no answer arrives before; Infinity: the look-up has ended. */
  nextAtMs(): number {
    if (this.#result !== null) return Number.POSITIVE_INFINITY;
    const asked = this.#order.flatMap(({ state }) => (state.kind === 'asked' ? [state] : []));
    return Math.min(...asked.map(({ sinceMs }) => sinceMs)) + this.#o.timeoutMs;
  }

  /**
   * An agent that was asked names the contacts that it knows nearest to the key.
   *
   * @param from - as the agent describes itself
   * @param canBeResult - false: the look-up continues as if the agent had failed
   */
  answered(from: Contact, named: readonly Contact[], canBeResult = true): void {
    const candidate = this.#awaited(from.id);
    if (candidate === undefined) return;
    candidate.state = { kind: canBeResult ? 'answered' : 'passed' };
    candidate.contact = from;
    candidate.distance = this.#distanceOf(from);
    const nearest = this.#nearest;
    const heard = new Set<string>();
    for (const contact of named.slice(0, this.#o.bucketSize)) {
      if (!heard.has(contact.id)) this.#name(contact, candidate.hop + 1);
      heard.add(contact.id);
    }
    this.#fruitless = this.#nearest === nearest ? this.#fruitless + 1 : 0;
    this.#arrange();
  }

  /** An agent that was asked has the value. Ignored if the purpose is `node`. */
  answeredValue(from: Contact, value: string): void {
    const candidate = this.#awaited(from.id);
    if (candidate === undefined || this.#o.purpose === 'node') return;
    this.#result = {
      kind: 'value',
      value,
      storeAt: this.#answerers()[0]?.contact ?? null,
      hops: candidate.hop,
      messages: this.#messages,
    };
  }

  /** An agent that was asked does not answer. It is asked again only at another address. */
  failed(id: string): void {
    const candidate = this.#awaited(id);
    if (candidate?.state.kind !== 'asked') return;
    this.#fruitless++;
    candidate.state = { kind: 'failed' };
    this.#tryNextAddress(candidate);
    this.#arrange();
  }

  /** A candidate whose answer counts. An answer may come after the time-out. */
  #awaited(id: string): Candidate | undefined {
    const candidate = this.#result === null ? this.#candidates.get(id) : undefined;
    const kind = candidate?.state.kind;
    return kind === 'asked' || kind === 'failed' ? candidate : undefined;
  }

  #name(contact: Contact, hop: number): void {
    const { id, address } = contact;
    if (id === this.#o.self) return;
    const known = this.#candidates.get(id);
    if (known !== undefined) {
      const isNew = !known.addresses.includes(address) && known.addresses.length < addressesMax;
      if (isNew) known.addresses.push(address);
      if (known.state.kind === 'failed') this.#tryNextAddress(known);
      return;
    }
    const distance = this.#distanceOf(contact);
    const state: State = { kind: 'named' };
    this.#candidates.set(id, { contact, distance, hop, state, addresses: [address] });
    if (this.#nearest === undefined || distance < this.#nearest) this.#nearest = distance;
  }

  #tryNextAddress(candidate: Candidate): void {
    const { addresses, contact } = candidate;
    const address = addresses[addresses.indexOf(contact.address) + 1];
    if (address === undefined) return;
    candidate.contact = { ...contact, address };
    candidate.state = { kind: 'named' };
  }

  #arrange(): void {
    this.#order = [...this.#candidates.values()]
      .filter(({ state }) => state.kind !== 'failed' && state.kind !== 'passed')
      .sort(byDistance);
    const named = this.#order.filter(({ state }) => state.kind === 'named');
    const forgotten = new Set(named.slice(namedFactor * this.#o.bucketSize));
    for (const { contact } of forgotten) this.#candidates.delete(contact.id);
    if (forgotten.size > 0) this.#order = this.#order.filter((each) => !forgotten.has(each));
  }

  /** The agents that are to answer: the nearest that have not failed. */
  #wanted(): Candidate[] {
    return this.#order.slice(0, this.#o.wanted ?? this.#o.bucketSize);
  }

  #answerers(): Candidate[] {
    return this.#order.filter(({ state }) => state.kind === 'answered');
  }

  #toAsk(): Candidate[] {
    const { bucketSize, concurrency } = this.#o;
    const open = this.#order.filter(({ state }) => state.kind === 'asked').length;
    // A round without anything nearer: the paper asks all of the nearest that were not asked.
    const openMax = this.#fruitless >= concurrency ? bucketSize : concurrency;
    const count = Math.min(openMax - open, requestsFactor * bucketSize - this.#messages);
    const named = this.#wanted().filter(({ state }) => state.kind === 'named');
    return named.slice(0, Math.max(0, count));
  }

  #endIfDone(): void {
    const complete = this.#wanted().every(({ state }) => state.kind === 'answered');
    const isSpent = this.#messages >= requestsFactor * this.#o.bucketSize;
    const isWaiting = this.#order.some(({ state }) => state.kind === 'asked');
    if (!complete && (!isSpent || isWaiting)) return;
    const nearest = this.#answerers().slice(0, this.#o.bucketSize);
    this.#result = {
      kind: 'nearest',
      nearest: nearest.map(({ contact }) => contact),
      complete,
      hops: nearest[0]?.hop ?? 0,
      messages: this.#messages,
    };
  }

  #distanceOf(contact: Contact): Key {
    return distanceTo(this.#o.key, this.#o.identifiersOf(contact));
  }
}

function byDistance(a: Candidate, b: Candidate): number {
  if (a.distance !== b.distance) return a.distance < b.distance ? -1 : 1;
  return a.contact.id < b.contact.id ? -1 : 1;
}
