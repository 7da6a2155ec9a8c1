// Searches in the identifiers of one agent. An agent of capacity 1,000 has thousands, and another such
// agent compares all of its own with them, so a search must not read each one. Arrays of identifiers
// are shared and never change, so their ascending order is computed once for each array.

import { bitAt, commonPrefix, KEY_BITS, type Key } from '../../../assignment/identifiers.ts';
import { firstAtOrAfter, forkOf, startOfOnes } from '../../../assignment/kademlia.ts';

/** Fewer identifiers are read one by one, which takes less time than a search. */
const SORTED_MIN = 32;

interface Sorted {
  /** Ascending. */
  readonly keys: readonly Key[];
  /** For each of them, its place in the given array. */
  readonly places: readonly number[];
}

/** By array. Emptied when the array itself is no longer used. */
const SORTED = new WeakMap<readonly Key[], Sorted>();

export function isLong(identifiers: readonly Key[]): boolean {
  return identifiers.length >= SORTED_MIN;
}

function sorted(identifiers: readonly Key[]): Sorted {
  const known = SORTED.get(identifiers);
  if (known) return known;
  const places = [...identifiers.keys()].sort((a, b) => {
    return compare(identifiers[a]!, identifiers[b]!);
  });
  const made = { places, keys: places.map((place) => identifiers[place]!) };
  SORTED.set(identifiers, made);
  return made;
}

export function ascending(identifiers: readonly Key[]): readonly Key[] {
  return sorted(identifiers).keys;
}

function compare(a: Key, b: Key): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The smallest identifier that is not below the bound. */
export function firstFrom(identifiers: readonly Key[], bound: Key): Key | undefined {
  const { keys } = sorted(identifiers);
  return keys[firstAtOrAfter(keys, bound)];
}

/** The places in the given array of the identifiers from `first` to before `end`. */
export function* placesBetween(
  identifiers: readonly Key[],
  first: Key,
  end: Key,
): Generator<number> {
  const { keys, places } = sorted(identifiers);
  for (let at = firstAtOrAfter(keys, first); at < keys.length && keys[at]! < end; at++) {
    yield places[at]!;
  }
}

/** The distance from the key to the nearest of the identifiers, of which there must be one. */
export function nearestDistance(key: Key, identifiers: readonly Key[]): Key {
  const { keys } = sorted(identifiers);
  let [from, to] = [0, keys.length];
  for (;;) {
    const fork = forkOf(keys, from, to);
    if (fork === undefined) return keys[from]! ^ key;
    // Those that agree with the key in the bit in which they differ first are nearer.
    if (bitAt(key, fork.depth) === 0) to = fork.middle;
    else from = fork.middle;
  }
}

/** For each key: the levels at which identifiers leave the path to it, `KEY_BITS` if one is it. */
export function levelsBeside(keys: readonly Key[], identifiers: readonly Key[]): Set<number>[] {
  const levels = keys.map(() => new Set<number>());
  if (keys.length === 0 || identifiers.length === 0) return levels;
  const [{ keys: paths, places }, { keys: others }] = [sorted(keys), sorted(identifiers)];
  const note = (from: number, to: number, level: number) => {
    for (let at = from; at < to; at++) levels[places[at]!]!.add(level);
  };
  // Both arrays are divided at the same bits, from the first one: a walk through one trie.
  const walk = (from: number, to: number, first: number, end: number): void => {
    if (from === to || first === end) return;
    const smallest = paths[from]! < others[first]! ? paths[from]! : others[first]!;
    const largest = paths[to - 1]! > others[end - 1]! ? paths[to - 1]! : others[end - 1]!;
    const depth = commonPrefix(smallest, largest);
    if (depth === KEY_BITS) return note(from, to, KEY_BITS);
    const ones = startOfOnes(largest, depth);
    const middle = firstAtOrAfter(paths, ones, from, to);
    const divide = firstAtOrAfter(others, ones, first, end);
    if (divide < end) note(from, middle, depth);
    if (first < divide) note(middle, to, depth);
    walk(from, middle, first, divide);
    walk(middle, to, divide, end);
  };
  walk(0, paths.length, 0, others.length);
  return levels;
}
