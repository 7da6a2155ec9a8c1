// The rules of one robots.txt for one crawler, and which of them decides about a path. A hostile
// file may have tens of thousands of rules with wildcards, so the cost of a check is limited. Rules
// are sorted, without duplicates. Many wildcard rules are first filtered by the last octets (at most
// four) of their longest piece. Each match is charged in steps of about one octet.
//
// Wildcard rules beyond the limit of steps are ignored: RFC 9309, section 2.5, lets a crawler limit
// what it reads of a file. Rules without wildcards are always checked.

import { matches, type PathPattern } from './path-pattern.ts';

export interface Rule {
  readonly allow: boolean;
  readonly pattern: PathPattern;
  /** The path as written, with one character per octet. */
  readonly value: string;
}

/** The deciding rule (null: none), and the cost of finding it. */
interface Decision {
  readonly rule: Rule | null;
  readonly steps: number;
}

/** About four milliseconds. Reaches 2,000 candidate rules for a path of 2,000 octets. */
export const CHECK_STEPS_MAX = 4_000_000;
/** Cost of starting the search for one piece, in steps. */
const PIECE_STEPS = 16;
/** Number of wildcard rules from which on the index is used. */
const INDEXED_FROM = 64;
const GRAM_OCTETS = 4;
const BUCKETS = 1 << 15;
/** Octets of memory for a rule, beside its text. */
const RULE_BYTES = 250;

export class RuleSet {
  /** By precedence: the first rule that matches applies. */
  readonly #rules: readonly Rule[];
  readonly #wildcards: number;
  #index: GramIndex | null = null;

  /** @param rules - in any order, with or without duplicates */
  constructor(rules: readonly Rule[]) {
    const once = new Map<string, Rule>();
    for (const rule of rules) {
      const key = `${rule.allow ? '+' : '-'}${rule.value}`;
      if (!once.has(key)) once.set(key, rule);
    }
    // Longest pattern first, then allow before disallow.
    this.#rules = [...once.values()].sort(
      (a, b) => b.pattern.octets - a.pattern.octets || Number(b.allow) - Number(a.allow),
    );
    this.#wildcards = this.#rules.filter(isWildcard).length;
  }

  /** Estimated memory of the rules, in octets. */
  get bytes(): number {
    return this.#rules.reduce((sum, { value }) => sum + RULE_BYTES + 2 * value.length, 0);
  }

  /** Number of rules, and whether a check of a long path may not reach all of them. */
  get size(): { readonly rules: number; readonly wildcards: number; readonly isAboveCap: boolean } {
    const isAboveCap = this.#wildcards > CHECK_STEPS_MAX / PATH_OCTETS_DEFAULT;
    return { rules: this.#rules.length, wildcards: this.#wildcards, isAboveCap };
  }

  /** @param path - normalized by `matchablePath` */
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

/** The default limit of a URL's length. */
const PATH_OCTETS_DEFAULT = 2048;

function isWildcard({ pattern }: Rule): boolean {
  return pattern.pieces.length > 1;
}

/**
 * Finds the wildcard rules that may match a path: those whose longest piece ends with octets that
 * the path contains. A hash table; collisions only add candidates.
 */
class GramIndex {
  /** Index + 1 of each bucket's first rule (0: none), and of the next rule in the bucket. */
  readonly #first = new Int32Array(BUCKETS);
  readonly #next: Int32Array;
  /** Number of the last look-up that found the rule, or the bucket. */
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
