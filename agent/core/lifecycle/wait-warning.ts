// Warns that this agent waits for others, at growing intervals, and keeps the reason for `status`.
// With each warning the agent looks whether the others have completed the crawl meanwhile.

import type { Effects } from '../protocol/effects.ts';

/** An agent that runs answers within milliseconds. */
const WARN_AFTER_MS = 5_000;
/** Each interval is twice as long as the one before, up to this. */
const WARN_EVERY_MS_MAX = 600_000;

export class WaitWarning {
  readonly #effects: Effects;
  readonly #firstMs: number;
  #warnAt = 0;
  #everyMs = 0;
  #reason: string | null = null;

  constructor(effects: Effects, suspectAfterMs: number) {
    this.#effects = effects;
    this.#firstMs = Math.min(WARN_AFTER_MS, suspectAfterMs);
  }

  /** A wait begins. */
  begin(mono: number): void {
    this.#reason = null;
    this.#everyMs = this.#firstMs;
    this.#warnAt = mono + this.#everyMs;
  }

  /** Completes the sentence *this agent ...*; null: it does not wait, or not for long. */
  get reason(): string | null {
    return this.#reason;
  }

  /** The wait goes on. `reason` is null if there is nothing to warn of at present. */
  goesOn(reason: string | null, mono: number): void {
    if (reason === null) this.#reason = null;
    if (reason === null || mono < this.#warnAt) return;
    this.#reason = reason;
    this.#warnAt = mono + this.#everyMs;
    this.#everyMs = Math.min(2 * this.#everyMs, WARN_EVERY_MS_MAX);
    this.#effects.push({ type: 'warn', message: reason });
    this.#effects.push({ type: 'woke' });
  }

  end(): void {
    this.#reason = null;
  }
}
