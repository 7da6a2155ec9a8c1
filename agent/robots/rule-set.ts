// The rules of one robots.txt for one crawler, and which of them decides a path. A hostile file has
// tens of thousands of rules with wildcards, so a check has a bound by construction: rules are sorted
// and each is kept once; a rule with a wildcard is matched only where four octets of its longest
// piece stand in the path; and what is matched is charged in steps, about one an octet looked at.
// Rules with wildcards that the steps do not reach are not consulted: RFC 9309, section 2.5, lets a
// crawler limit what it reads of a file. Rules without wildcards always are.

import { matches, type PathPattern } from './path-pattern.ts';

/** One Allow or Disallow line. */
export interface Rule {
  readonly allow: boolean;
  readonly pattern: PathPattern;
  /** The path as written, one character per octet. */
  readonly value: string;
}

/** What decided, and what finding it took. */
export interface Decision {
  readonly rule: Rule | null;
  readonly steps: number;
}

/** About four milliseconds. A path of 2,000 octets reaches 2,000 rules that might match it. */
export const CHECK_STEPS_MAX = 4_000_000;
/** Searching for one piece costs as much as looking at so many octets. */
const PIECE_STEPS = 16;
/** A set with more wildcards than this is searched by their octets. */
const INDEXED_FROM = 64;
const GRAM_OCTETS = 4;
const BUCKETS = 1 << 15;
/** Octets of memory that a rule takes, beside its text. */
const RULE_BYTES = 250;

export class RuleSet {
  /** In the order in which they decide. */
  readonly #rules: readonly Rule[];
  readonly #wildcards: number;
  #index: GramIndex | null = null;

  /** @param rules - in any order, repeated or not */
  constructor(rules: readonly Rule[]) {
    const once = new Map<string, Rule>();
    for (const rule of rules) {
      const key = `${rule.allow ? '+' : '-'}${rule.value}`;
      if (!once.has(key)) once.set(key, rule);
    }
    // Most octets first, then allow before disallow: the first match is the one that counts.
    this.#rules = [...once.values()].sort(
      (a, b) => b.pattern.octets - a.pattern.octets || Number(b.allow) - Number(a.allow),
    );
    this.#wildcards = this.#rules.filter(isWildcard).length;
  }

  /** An estimate of the memory that the rules take. */
  get bytes(): number {
    return this.#rules.reduce((sum, { value }) => sum + RULE_BYTES + 2 * value.length, 0);
  }

  /** How many rules there are, and whether a check of a long path may not reach all of them. */
  get size(): { readonly rules: number; readonly wildcards: number; readonly isAboveCap: boolean } {
    const isAboveCap = this.#wildcards > CHECK_STEPS_MAX / PATH_OCTETS_USUAL;
    return { rules: this.#rules.length, wildcards: this.#wildcards, isAboveCap };
  }

  /** @param path - as `matchablePath` gives it */
  decide(path: string): Decision {
    const index = this.#wildcards < INDEXED_FROM ? null : this.#indexOf(path);
    let steps = this.#rules.length + (index === null ? 0 : path.length);
    for (const [k, rule] of this.#rules.entries()) {
      if (isWildcard(rule)) {
        if (index !== null && !index.isCandidate(k)) continue;
        const cost = path.length + rule.value.length + PIECE_STEPS * rule.pattern.pieces.length;
        if (steps + cost > CHECK_STEPS_MAX) continue;
        steps += cost;
      }
      if (matches(rule.pattern, path)) return { rule, steps };
    }
    return { rule: null, steps };
  }

  #indexOf(path: string): GramIndex {
    this.#index ??= new GramIndex(this.#rules);
    this.#index.look(path);
    return this.#index;
  }
}

/** The longest URL that is crawled by default. */
const PATH_OCTETS_USUAL = 2048;

function isWildcard({ pattern }: Rule): boolean {
  return pattern.pieces.length > 1;
}

/** Finds the rules of which the last octets of the longest piece stand in a path. */
class GramIndex {
  /** Number of the first rule of each bucket plus one, and of the next rule of the same bucket. */
  readonly #first = new Int32Array(BUCKETS);
  readonly #next: Int32Array;
  /** The number of the last look-up that found the rule, or the bucket. */
  readonly #found: Int32Array;
  readonly #seen = new Int32Array(BUCKETS);
  readonly #lengths = new Set<number>();
  readonly #always: number[] = [];
  #look = 0;

  constructor(rules: readonly Rule[]) {
    this.#next = new Int32Array(rules.length);
    this.#found = new Int32Array(rules.length);
    for (const [k, rule] of rules.entries()) {
      if (!isWildcard(rule)) continue;
      const longest = rule.pattern.pieces.reduce((a, b) => (b.length > a.length ? b : a));
      const length = Math.min(longest.length, GRAM_OCTETS);
      if (length === 0) {
        this.#always.push(k);
        continue;
      }
      const bucket = bucketOf(longest, longest.length - length, length);
      this.#lengths.add(length);
      this.#next[k] = this.#first[bucket]!;
      this.#first[bucket] = k + 1;
    }
  }

  look(path: string): void {
    const look = ++this.#look;
    for (const k of this.#always) this.#found[k] = look;
    for (const length of this.#lengths) {
      for (let at = 0; at + length <= path.length; at++) {
        const bucket = bucketOf(path, at, length);
        if (this.#seen[bucket] === look) continue;
        this.#seen[bucket] = look;
        for (let k = this.#first[bucket]!; k > 0; k = this.#next[k - 1]!) this.#found[k - 1] = look;
      }
    }
  }

  isCandidate(k: number): boolean {
    return this.#found[k] === this.#look;
  }
}

function bucketOf(text: string, from: number, length: number): number {
  let hash = length;
  for (let at = from; at < from + length; at++) {
    hash = Math.imul(hash, 0x01000193) ^ text.charCodeAt(at);
  }
  return (hash ^ (hash >>> 15)) & (BUCKETS - 1);
}
