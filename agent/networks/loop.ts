// A piece of work that is repeated, with at most one run open. A run waits for Redis, and tells how
// long the next one may wait. A failed run is repeated with growing pauses.

import type { Instant } from '../../failure-detector/instant.ts';

const BACKOFF_MIN_MS = 100;
/** A server that is back is noticed within this time. */
export const BACKOFF_MAX_MS = 5000;

interface LoopParts {
  /** Resolves with the milliseconds until the next run. */
  readonly run: (now: Instant) => Promise<number>;
  /** A run has ended: `pump` is to be called. */
  readonly wake: () => void;
  readonly onError: (error: unknown) => void;
}

export class Loop {
  readonly #p: LoopParts;
  #isOpen = false;
  /** The result of a run that has ended since the last pump. */
  #ended: number | 'failed' | null = null;
  #dueAtMs = -Infinity;
  #isKicked = false;
  #backoffMs = 0;
  /** When the open run began, and since when no run has succeeded; null: the last one has (mono). */
  #beganAtMs = 0;
  #failingSinceMs: number | null = null;
  #failedMs = 0;
  #errors = 0;

  constructor(parts: LoopParts) {
    this.#p = parts;
  }

  /** For how long no run has succeeded: the last ones failed, or the open one takes so long. */
  troubleMs(now: Instant): number {
    const since = this.#failingSinceMs ?? (this.#isOpen ? this.#beganAtMs : now.mono);
    return now.mono - since;
  }

  /** From the first failure since the last success to the last failure. */
  get failedMs(): number {
    return this.#failedMs;
  }

  get errors(): number {
    return this.#errors;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Makes the next run due, unless runs fail. */
  kick(): void {
    this.#isKicked = true;
  }

  pump(now: Instant): void {
    this.#close(now);
    const isDue = now.mono >= this.#dueAtMs || (this.#isKicked && this.#backoffMs === 0);
    if (this.#isOpen || !isDue) return;
    this.#isOpen = true;
    this.#beganAtMs = now.mono;
    this.#isKicked = false;
    this.#p.run(now).then(
      (pauseMs) => this.#end(pauseMs),
      (error) => {
        this.#errors++;
        this.#p.onError(error);
        this.#end('failed');
      },
    );
  }

  /** Until when the pause after a failure lasts (mono). */
  notBeforeMs(): number {
    return this.#backoffMs > 0 ? this.#dueAtMs : -Infinity;
  }

  /** When the next run is due (mono); Infinity while one is open. */
  nextAtMs(): number {
    if (this.#isOpen) return Infinity;
    return this.#isKicked && this.#backoffMs === 0 ? -Infinity : this.#dueAtMs;
  }

  #end(result: number | 'failed'): void {
    this.#isOpen = false;
    this.#ended = result;
    this.#p.wake();
  }

  #close(now: Instant): void {
    const ended = this.#ended;
    if (ended === null) return;
    this.#ended = null;
    if (ended === 'failed') {
      this.#failingSinceMs ??= this.#beganAtMs;
      this.#failedMs = now.mono - this.#failingSinceMs;
      this.#backoffMs = Math.min(BACKOFF_MAX_MS, Math.max(BACKOFF_MIN_MS, this.#backoffMs * 2));
      this.#dueAtMs = now.mono + this.#backoffMs;
    } else {
      this.#failingSinceMs = null;
      this.#failedMs = 0;
      this.#backoffMs = 0;
      this.#dueAtMs = now.mono + ended;
    }
  }
}
