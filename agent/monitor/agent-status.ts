// What an agent says of itself: shown by `ubiring status` and by the progress of `launch`, and the
// rate behind it. Plain data that crosses processes as JSON.

import type { MessageType } from '../core/protocol/messages.ts';
import type { CoreSnapshot } from '../core/snapshot.ts';

export interface AgentStatus extends CoreSnapshot {
  /** The `name` of its config; absent from an agent of an earlier version. */
  readonly crawl?: string;
  readonly pid: number;
  readonly hosts: number;
  readonly hostsWithQueue: number;
  /** Of them, those whose robots.txt, or another host's that theirs leads to, is out of reach. */
  readonly hostsAwaitingRobots: number;
  /** Why one of these waits, `dns` for example; null where none does. */
  readonly robotsWaitReason?: string | null;
  /** URLs that ended with a response or failed. */
  readonly pages: number;
  readonly threads: number;
  /** Over the last ten seconds. */
  readonly pagesPerSecond: number;
  /** 99th percentile of the event loop's delay, over ten seconds or two times as many. */
  readonly loopDelayMs: number;
  readonly rssBytes: number;
  /** Messages sent to other agents since the start, and the bytes of their frames, by type. */
  readonly traffic: Readonly<Partial<Record<MessageType, { messages: number; bytes: number }>>>;
  readonly uptimeMs: number;
}

/** Seconds over which a rate is taken; one sample is kept for each. */
const WINDOW_MS = 10_000;
const SAMPLE_MS = 1000;

/**
 * Pages a second over the last ten seconds, from samples of a growing count; where nobody has asked
 * for longer, since it was last asked for.
 */
export class Rate {
  readonly #samples: { at: number; count: number }[] = [];

  /** @param startedAtMs - when there were none yet */
  constructor(startedAtMs: number) {
    this.#samples.push({ at: startedAtMs, count: 0 });
  }

  /** @returns events a second between the newest sample before the window and now */
  at(nowMs: number, count: number): number {
    const last = this.#samples.at(-1)!;
    if (nowMs - last.at >= SAMPLE_MS) this.#samples.push({ at: nowMs, count });
    while (this.#samples.length > 1 && nowMs - this.#samples[1]!.at >= WINDOW_MS) {
      this.#samples.shift();
    }
    const first = this.#samples[0]!;
    const seconds = (nowMs - first.at) / 1000;
    return seconds < 0.5 ? 0 : (count - first.count) / seconds;
  }
}
