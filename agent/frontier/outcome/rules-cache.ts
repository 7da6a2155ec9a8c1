// The parsed robots.txt files of an agent, shared by its visits. Parsing a large file takes tens of
// milliseconds and its rules take megabytes, so the rules outlive a visit and their total size is
// limited. Dropped rules are parsed again from the stored file.

import type { RequestForm } from '../../url/crawl-url.ts';

/** Limit of the memory for all rules: some hundred thousand rules. Ordinary files have ten. */
const BYTES_MAX = 32 * 1024 * 1024;
/** Memory of an entry without rules. */
const ENTRY_BYTES = 1024;

/** The rules of one file. */
export interface RobotsRules {
  /** `steps`: the cost of the check; a step is about one octet examined. */
  allows(url: RequestForm): { readonly allowed: boolean; readonly steps?: number };
  /** Null: the file has none. */
  readonly crawlDelayMs: number | null;
  /** An estimate of the memory that the rules take. */
  readonly bytes?: number;
  /** Number of rules, and whether a check of a long URL may not reach all of them. */
  readonly size?: {
    readonly rules: number;
    readonly wildcards: number;
    readonly isAboveCap: boolean;
  };
}

interface Entry {
  readonly rules: RobotsRules;
  readonly fetchedAt: number;
  readonly bytes: number;
}

export class RulesCache {
  /** The least recently used first. `put` fills it and drops the first ones beyond `BYTES_MAX`. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  /**
   * @param fetchedAt - time at which the wanted version of the file was fetched
   * @returns null if the cache has no rules, or those of another version
   */
  get(origin: string, fetchedAt: number): RobotsRules | null {
    const entry = this.#entries.get(origin);
    if (entry?.fetchedAt !== fetchedAt) return null;
    this.#entries.delete(origin);
    this.#entries.set(origin, entry);
    return entry.rules;
  }

  put(origin: string, fetchedAt: number, rules: RobotsRules): void {
    this.drop(origin);
    const bytes = ENTRY_BYTES + (rules.bytes ?? 0);
    this.#entries.set(origin, { rules, fetchedAt, bytes });
    this.#bytes += bytes;
    for (const first of this.#entries.keys()) {
      if (this.#bytes <= BYTES_MAX || first === origin) break;
      this.drop(first);
    }
  }

  drop(origin: string): void {
    this.#bytes -= this.#entries.get(origin)?.bytes ?? 0;
    this.#entries.delete(origin);
  }
}
