// The identifiers of the agents in a routing table or a neighbourhood, sorted. All identifiers with
// one prefix are neighbours in the array, so a region is found by a binary search, and the array can
// be walked in the order of the distance to any key. The array needs no copy of the trie.

import { bitAt, commonPrefix, KEY_BITS, type Key } from '../../../assignment/identifiers.ts';
import { endOf, isIn, type Prefix } from './contact.ts';
import { ascending, isLong } from './sorted-keys.ts';

interface Place<T> {
  readonly identifier: Key;
  /** Orders agents that have an equal identifier. */
  readonly id: string;
  readonly of: T;
}

export class IdentifierIndex<T> {
  /** In ascending order. Filled by `add`, emptied by `delete`; the table has the bound. */
  #places: Place<T>[] = [];
  /** Those that have the identifiers, by id. Filled and emptied as the places are. */
  readonly #all = new Map<string, T>();

  get all(): ReadonlyMap<string, T> {
    return this.#all;
  }

  add(id: string, identifiers: readonly Key[], of: T): void {
    this.#all.set(id, of);
    if (isLong(identifiers)) {
      // One merge of two sorted arrays, instead of thousands of moves of the rest of the array.
      for (const identifier of ascending(identifiers)) this.#places.push({ identifier, id, of });
      this.#places.sort((a, b) => (isBefore(a, b.identifier, b.id) ? -1 : 1));
      return;
    }
    for (const identifier of identifiers) {
      this.#places.splice(this.#find(identifier, id), 0, { identifier, id, of });
    }
  }

  delete(id: string, identifiers: readonly Key[]): void {
    this.#all.delete(id);
    if (isLong(identifiers)) {
      this.#places = this.#places.filter((place) => place.id !== id);
      return;
    }
    for (const identifier of identifiers) {
      const at = this.#find(identifier, id);
      if (this.#places[at]?.id === id) this.#places.splice(at, 1);
    }
  }

  /** Those with identifiers in the region, once for each identifier. */
  *within(prefix: Prefix): Generator<T> {
    const end = this.#find(endOf(prefix), '');
    for (let at = this.#find(prefix.bits, ''); at < end; at++) yield this.#places[at]!.of;
  }

  /** Whether any identifier is in the region. */
  hasIn(prefix: Prefix): boolean {
    const first = this.#places[this.#find(prefix.bits, '')];
    return first !== undefined && isIn(first.identifier, prefix);
  }

  /** Everything by the distance of its identifiers to the key, once for each identifier. */
  *nearest(key: Key): Generator<T> {
    // Ranges that are still to be visited, the nearest last; at most one for each bit of a key.
    const ranges = [{ from: 0, to: this.#places.length }];
    for (let range = ranges.pop(); range !== undefined; range = ranges.pop()) {
      const { from, to } = range;
      if (from === to) continue;
      const first = this.#places[from]!.identifier;
      const last = this.#places[to - 1]!.identifier;
      const depth = commonPrefix(first, last);
      if (depth === KEY_BITS) {
        for (let at = from; at < to; at++) yield this.#places[at]!.of;
        continue;
      }
      // The identifiers of the range differ first in this bit. Those that agree with the key in it
      // are all nearer than the others.
      const rest = BigInt(KEY_BITS - 1 - depth);
      const middle = this.#find((last >> rest) << rest, '');
      const [zero, one] = [
        { from, to: middle },
        { from: middle, to },
      ];
      ranges.push(...(bitAt(key, depth) === 0 ? [one, zero] : [zero, one]));
    }
  }

  /** Index of the first place that is not before the identifier and id. */
  #find(identifier: Key, id: string): number {
    let [from, to] = [0, this.#places.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (isBefore(this.#places[middle]!, identifier, id)) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

function isBefore(place: Place<unknown>, identifier: Key, id: string): boolean {
  return place.identifier < identifier || (place.identifier === identifier && place.id < id);
}
