// Which networks' Redis does not answer now, for `status`. Calls that fail are repeated, so a failure
// is current until the next one is overdue. So is one of a Redis that has no connection since: an
// agent that does not ask it cannot know better.

import type { Instant } from '../../failure-detector/instant.ts';
import type { RedisFailure } from '../core/crawl/networks-port.ts';
import { BACKOFF_MAX_MS } from './loop.ts';

export class RedisFailures {
  readonly #currentMs: number;
  /** By network, the last failure; since when calls have failed, and when the last one did (mono). */
  readonly #last = new Map<string, { message: string; sinceMs: number; atMs: number }>();

  /** @param timeoutMs - after which a call has failed */
  constructor(timeoutMs: number) {
    this.#currentMs = BACKOFF_MAX_MS + timeoutMs;
  }

  /**
   * @param error - a NetworkFailure; any other is not of a Redis, and does not count
   * @returns false if the last failure of this network was the same and is current
   */
  record(error: unknown, now: Instant): boolean {
    const { network, message } = error as Partial<RedisFailure>;
    if (network === undefined || message === undefined) return true;
    const last = this.#last.get(network);
    const isStreak = last !== undefined && this.#isCurrent(last, now);
    const sinceMs = isStreak ? last.sinceMs : now.mono;
    this.#last.set(network, { message, sinceMs, atMs: now.mono });
    return !isStreak || last.message !== message;
  }

  /** The Redis of the network still has no connection. */
  prolong(network: string, now: Instant): void {
    const last = this.#last.get(network);
    if (last && this.#isCurrent(last, now)) last.atMs = now.mono;
  }

  current(now: Instant): RedisFailure[] {
    return [...this.#last].flatMap(([network, last]) => {
      if (!this.#isCurrent(last, now)) return [];
      const { message, sinceMs, atMs } = last;
      return [{ network, message, forMs: now.mono - sinceMs, quietMs: now.mono - atMs }];
    });
  }

  #isCurrent({ atMs }: { readonly atMs: number }, now: Instant): boolean {
    return now.mono - atMs <= this.#currentMs;
  }
}
