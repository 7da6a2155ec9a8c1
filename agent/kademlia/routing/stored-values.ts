// The values that STORE has placed at this agent, and those that this agent publishes (Maymounkov
// and Mazières 2002, section 2.5). Holders republish what they hold, because the agents nearest to
// a key change; the publisher renews its values, and a value that nobody renews expires. A message
// carries the time that a value has left, not a date, so clocks need not agree.

import type { Key } from '../../../assignment/identifiers.ts';
import { distanceTo } from './contact.ts';

export interface StoredValuesOptions {
  /** Life of a value after its publisher last renewed it. */
  readonly expireMs: number;
  /** From the last STORE of a value to its republication by a holder; less than `expireMs`. */
  readonly republishMs: number;
  /** From one renewal by the publisher to the next; less than `expireMs`. */
  readonly renewMs: number;
  /** Values of other agents that are held. */
  readonly valuesMax: number;
  /** Values that this agent publishes. */
  readonly publishedMax: number;
  /** UTF-16 units of one value. */
  readonly valueLengthMax: number;
}

/** A STORE to send to the agents nearest to the key. */
export interface Store {
  readonly key: Key;
  readonly value: string;
  /** Time until the value expires. */
  readonly leftMs: number;
}

/**
 * The result of a STORE. Only `stored` changed something. `older`: the value held was renewed
 * later.
 */
export type StoreResult = 'stored' | 'older' | 'too-long' | 'full';

interface Held {
  readonly value: string;
  readonly expiresMs: number;
  republishAtMs: number;
}

interface Published {
  readonly value: string;
  renewAtMs: number;
}

/** All times are monotonic. */
export class StoredValues {
  readonly #o: StoredValuesOptions;
  /** Filled by `store`, emptied by `expire`. Bound: `valuesMax`; a full store refuses others. */
  readonly #held = new Map<Key, Held>();
  /** Filled by `publish`, emptied by `withdraw`. Bound: `publishedMax`. */
  readonly #published = new Map<Key, Published>();

  constructor(options: StoredValuesOptions) {
    this.#o = options;
  }

  /**
   * A STORE has arrived. A value that expires later was renewed later, so it replaces the other:
   * a publisher can change its value, and holders cannot bring the former one back.
   */
  store({ key, value, leftMs }: Store, now: number): StoreResult {
    if (value.length > this.#o.valueLengthMax) return 'too-long';
    const held = this.#live(key, now);
    const expiresMs = now + Math.min(leftMs, this.#o.expireMs);
    // The sender of a STORE also sends it to the other nearest agents.
    const republishAtMs = now + this.#o.republishMs;
    if (held !== undefined && held.expiresMs >= expiresMs) {
      if (held.value === value) held.republishAtMs = republishAtMs;
      return 'older';
    }
    if (!(expiresMs > now)) return 'older';
    if (held === undefined && this.#held.size >= this.#o.valuesMax) this.#expire(now);
    if (held === undefined && this.#held.size >= this.#o.valuesMax) return 'full';
    this.#held.set(key, { value, expiresMs, republishAtMs });
    return 'stored';
  }

  /** The value under the key, held or published here. */
  get(key: Key, now: number): string | undefined {
    return this.#published.get(key)?.value ?? this.#live(key, now)?.value;
  }

  /** Publishes a value, or another value under the same key, until it is withdrawn. */
  publish(key: Key, value: string, now: number): StoreResult {
    if (value.length > this.#o.valueLengthMax) return 'too-long';
    if (!this.#published.has(key) && this.#published.size >= this.#o.publishedMax) return 'full';
    this.#published.set(key, { value, renewAtMs: now });
    return 'stored';
  }

  /** Stops renewing a value. The copies at other agents expire. */
  withdraw(key: Key): void {
    this.#published.delete(key);
  }

  /** The values to send now, and counts them as sent: published ones, and ones to republish. */
  due(now: number): Store[] {
    this.#expire(now);
    const stores: Store[] = [];
    for (const [key, published] of this.#published) {
      if (published.renewAtMs > now) continue;
      published.renewAtMs = now + this.#o.renewMs;
      stores.push({ key, value: published.value, leftMs: this.#o.expireMs });
    }
    for (const [key, held] of this.#held) {
      if (held.republishAtMs > now || this.#published.has(key)) continue;
      held.republishAtMs = now + this.#o.republishMs;
      stores.push({ key, value: held.value, leftMs: held.expiresMs - now });
    }
    return stores;
  }

  /**
   * The values to copy to an agent that was seen for the first time: those whose key it is nearer
   * to than this agent.
   */
  copiesFor(identifiers: readonly Key[], own: readonly Key[], now: number): Store[] {
    this.#expire(now);
    return [...this.#held]
      .filter(([key]) => distanceTo(key, identifiers) < distanceTo(key, own))
      .map(([key, { value, expiresMs }]) => ({ key, value, leftMs: expiresMs - now }));
  }

  #live(key: Key, now: number): Held | undefined {
    const held = this.#held.get(key);
    return held !== undefined && held.expiresMs > now ? held : undefined;
  }

  #expire(now: number): void {
    for (const [key, { expiresMs }] of this.#held) if (expiresMs <= now) this.#held.delete(key);
  }
}

/**
 * Life of a copy that a look-up leaves on its way. It halves with each agent between the copy's
 * place and the nearest agent, so that copies far away do not outlive the value's popularity.
 */
export function copyLeftMs(leftMs: number, agentsBetween: number): number {
  return leftMs / 2 ** agentsBetween;
}
