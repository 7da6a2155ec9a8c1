// Counts refused frames by reason and logs each reason at most once per interval, so that somebody
// who sends garbage for hours cannot fill the log.

import type { FrameCode, FrameError } from './codec.ts';

/** The methods of a pino logger that this folder uses. */
export interface TransportLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export type RefusalCode =
  | FrameCode
  /** Not exactly one frame after the identity that ROUTER adds. */
  | 'bad_parts'
  /** A connection that named one agent as the sender now names another. */
  | 'sender_changed'
  /** A command, but this agent's port can be reached from other machines. */
  | 'control_remote'
  /** Too many commands are waiting. */
  | 'control_busy'
  /** A frame of this agent that is too large, or for which there is no link. */
  | 'unsendable';

/** The readable parts of a refused frame. */
export interface RefusedFrame extends Omit<FrameError, 'ok' | 'code'> {
  readonly code: RefusalCode;
}

/** Shortest time between two log lines about the same reason. */
const LOG_INTERVAL_MS = 10_000;

export class Refusals {
  readonly #counts = new Map<RefusalCode, number>();
  /** Reasons that are not logged now: the number of refusals since the last log line. */
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

  /** Number of refused frames by reason. */
  counts(): Readonly<Partial<Record<RefusalCode, number>>> {
    return Object.fromEntries(this.#counts);
  }

  /** Stops the timers. */
  close(): void {
    for (const { timer } of this.#silent.values()) clearTimeout(timer);
    this.#silent.clear();
  }
}
