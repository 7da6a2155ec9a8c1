// Counts what was refused, by reason, and writes it to the log at most once per interval and
// reason: a stranger who sends garbage for hours must fill neither the log nor the disk. The
// transport counts here; `stats()` shows the sums.

import type { FrameCode } from './codec.ts';
import type { Ahead, End } from './validate.ts';

/** The part of a pino logger that this folder uses. */
export interface TransportLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export type RefusalCode =
  | FrameCode
  /** Not exactly one frame behind the identity that ROUTER adds. */
  | 'bad_parts'
  /** A connection that spoke for one agent now speaks for another. */
  | 'sender_changed'
  /** A command, but this agent's port can be reached from other machines. */
  | 'control_remote'
  /** A command beyond the number that may wait. */
  | 'control_busy'
  /** Something of ours that is too large to be sent, or for a peer beyond the number allowed. */
  | 'unsendable';

/** One refused frame, as far as it could be read; `batch` as in `Validated`. */
export interface RefusedFrame {
  readonly code: RefusalCode;
  readonly detail: string;
  readonly version?: number;
  readonly from?: End;
  readonly to?: End;
  readonly batch?: number;
  readonly ahead?: Ahead;
}

/** Silence of the log after a line about a reason. */
const LOG_INTERVAL_MS = 10_000;

/** Counters and the rate-limited log behind them. */
export class Refusals {
  readonly #counts = new Map<RefusalCode, number>();
  /** Reasons in their silence: how many more came since the line. */
  readonly #silent = new Map<RefusalCode, { more: number; timer: NodeJS.Timeout }>();
  readonly #log: TransportLog;

  constructor(log: TransportLog) {
    this.#log = log;
  }

  count(refused: RefusedFrame): void {
    const { code } = refused;
    this.#counts.set(code, (this.#counts.get(code) ?? 0) + 1);
    const silent = this.#silent.get(code);
    if (silent !== undefined) {
      silent.more += 1;
      return;
    }
    this.#log.warn({ ...refused }, 'frame refused');
    const timer = setTimeout(() => this.#endSilence(code), LOG_INTERVAL_MS);
    timer.unref();
    this.#silent.set(code, { more: 0, timer });
  }

  #endSilence(code: RefusalCode): void {
    const more = this.#silent.get(code)?.more ?? 0;
    this.#silent.delete(code);
    if (more > 0) this.#log.warn({ code, more }, 'more frames refused since');
  }

  /** How many were refused, by reason. */
  counts(): Readonly<Partial<Record<RefusalCode, number>>> {
    return Object.fromEntries(this.#counts);
  }

  /** Stops the timers. */
  close(): void {
    for (const { timer } of this.#silent.values()) clearTimeout(timer);
    this.#silent.clear();
  }
}
