// Notices a write-ahead log that grows because a program keeps a read transaction of the state file
// open: SQLite cannot reuse the log meanwhile, and in the end the disk is full. Started by agent.ts.

import { sizeOf } from './examination.ts';

const LOOK_MS = 5_000;
const MIB = 1024 * 1024;
/** First size that is told; after that each doubling is. */
const WAL_BYTES_TOLD = 256 * MIB;
/** From this size on the agent gives up its own check in the background, which reads as well. */
export const WAL_BYTES_CHECK_MAX = 1024 * MIB;

export const WAL_REMEDY =
  'the write-ahead log grows because a program reads state.sqlite in one long transaction: end ' +
  'that program (a query, a backup or an sqlite3 shell), or the disk fills up';

/** The size of the log, seen from time to time. */
export class WalGrowth {
  #toldAt = WAL_BYTES_TOLD;

  /** Whether this size is to be told: once for each doubling, anew after the log was cut back. */
  isNews(bytes: number): boolean {
    if (bytes < WAL_BYTES_TOLD / 2) this.#toldAt = WAL_BYTES_TOLD;
    if (bytes < this.#toldAt) return false;
    while (this.#toldAt <= bytes) this.#toldAt *= 2;
    return true;
  }
}

/**
 * @param path - of the state file
 * @param ended - when the watch ends
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
