// The parsed robots.txt files of an agent, shared by its visits. Parsing a large file takes tens of
// milliseconds and its rules take megabytes, so they outlive a visit, and the bytes of all together
// have a bound. What is dropped is parsed again from the stored file when it is needed.

import type { RequestForm } from '../../url/crawl-url.ts';

/** Some hundred thousand rules. Ordinary files have ten. */
const BYTES_MAX = 32 * 1024 * 1024;
/** Taken by an entry without rules. */
const ENTRY_BYTES = 1024;

/** The rules of one file. */
export interface RobotsRules {
  /** `steps`: what the check took; a step is about an octet looked at. */
  allows(url: RequestForm): { readonly allowed: boolean; readonly steps?: number };
  /** Null where the file names none. */
  readonly crawlDelayMs: number | null;
  /** An estimate of the memory that the rules take. */
  readonly bytes?: number;
  /** How many rules there are, and whether a check of a long URL may not reach all of them. */
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
  /** The least recently used first; filled by `put`, which drops the first beyond `BYTES_MAX`. */
  readonly #entries = new Map<string, Entry>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** @param fetchedAt - of the file that is wanted; another one does not count */
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
      if (this.#bytes <= this.#bytesMax || first === origin) break;
      this.drop(first);
    }
  }

  drop(origin: string): void {
    this.#bytes -= this.#entries.get(origin)?.bytes ?? 0;
    this.#entries.delete(origin);
  }
}
