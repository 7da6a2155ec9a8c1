// Measures the agent's own process for `status`: the rate of pages, failed requests, the
// delay of the event loop, memory and time.

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Outcome } from '../core/protocol/outcome.ts';
import { type AgentStatus, Rate } from './agent-status.ts';
import { FailureCounts } from './failure-counts.ts';
import { LoopDelay } from './loop-delay.ts';

type Measured = Pick<
  AgentStatus,
  'pid' | 'pagesPerSecond' | 'failures' | 'loopDelayMs' | 'rssBytes' | 'uptimeMs'
>;

export class ProcessMeter {
  readonly #rate: Rate;
  readonly #failures = new FailureCounts();
  readonly #loopDelay = new LoopDelay(monitorEventLoopDelay({ resolution: 10 }));
  readonly #startedAt: number;

  /** @param nowMs - monotonic milliseconds */
  constructor(nowMs: number) {
    this.#rate = new Rate(nowMs);
    this.#startedAt = nowMs;
  }

  /** Begins to measure the delay of the event loop, until `disable`. */
  enable(): void {
    this.#loopDelay.enable();
  }

  disable(): void {
    this.#loopDelay.disable();
  }

  note(outcome: Outcome): void {
    this.#failures.note(outcome);
  }

  /** @param fetched - pages that this process has fetched so far */
  at(nowMs: number, fetched: number): Measured {
    return {
      pid: process.pid,
      pagesPerSecond: this.#rate.at(nowMs, fetched),
      failures: this.#failures.byClass(),
      loopDelayMs: this.#loopDelay.at(nowMs),
      rssBytes: process.memoryUsage.rss(),
      uptimeMs: Math.round(nowMs - this.#startedAt),
    };
  }
}
