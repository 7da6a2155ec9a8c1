// Detects a write-ahead log that grows because a program keeps a read transaction of the state file
// open. SQLite cannot reuse the log during such a transaction, so the log can fill the disk.

import { sizeOf } from './examination.ts';

/** Interval of the checks, in milliseconds. */
const LOOK_MS = 5_000;
const MIB = 1024 * 1024;
/** First size that is reported; each doubling is reported after that. */
const WAL_BYTES_REPORTED = 256 * MIB;
/** From this size on, the agent stops its own background check, which also reads the file. */
export const WAL_BYTES_CHECK_MAX = 1024 * MIB;

export const WAL_REMEDY =
  'the write-ahead log grows because a program reads state.sqlite in one long transaction: end ' +
  'that program (a query, a backup or an sqlite3 shell), or the disk fills up';

/** Decides which sizes of the log are reported. */
export class WalGrowth {
  #reportedAt = WAL_BYTES_REPORTED;

  /** True once for each doubling of the size; starts again after the log was truncated. */
  isNews(bytes: number): boolean {
    if (bytes < WAL_BYTES_REPORTED / 2) this.#reportedAt = WAL_BYTES_REPORTED;
    if (bytes < this.#reportedAt) return false;
    while (this.#reportedAt <= bytes) this.#reportedAt *= 2;
    return true;
  }
}

/**
 * @param path - the state file
 * @param ended - ends the watch when it settles
 */
export function watchWal(
  path: string,
  onGrowth: (bytes: number) => void,
  ended: Promise<unknown>,
  lookMs = LOOK_MS,
): void {
  const growth = new WalGrowth();
  const timer = setInterval(() => {
    const bytes = sizeOf(`${path}-wal`);
    if (growth.isNews(bytes)) onGrowth(bytes);
  }, lookMs);
  timer.unref();
  void ended.then(() => clearInterval(timer));
}
