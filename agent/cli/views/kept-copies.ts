// Keeps copies of state files that cannot be read in place, such as those of an older version, between
// two requests. A dashboard asks every second, and a copy may have gigabytes. A copy uses space in the
// directory for temporary files until the state file changes or the process ends.

import fs from 'node:fs';
import { monotonicMs } from '../../runtime/clock.ts';
import { openStateFile, type StateFile } from '../common/query-files.ts';

/** Opens the state of an agent. Null: it is stale, and counts as if it were not here. */
export type OpenState = (
  ...of: Parameters<typeof openStateFile>
) => ReturnType<typeof openStateFile> | null;

/** While an agent of an older version runs, its file changes all the time. */
const COPY_MS_MIN = 10_000;

interface Kept {
  readonly file: StateFile;
  readonly stamp: string;
  readonly at: number;
}

export class KeptCopies {
  /** By path: one for each agent of this machine at most. */
  readonly #kept = new Map<string, Kept>();
  readonly #now: () => number;

  /** @param now - monotonic milliseconds */
  constructor(now = monotonicMs) {
    this.#now = now;
  }

  readonly open: typeof openStateFile = (agent, path) => {
    const kept = this.#kept.get(path);
    const stamp = stampOf([path, `${path}-wal`]);
    const isYoung = kept !== undefined && this.#now() - kept.at < COPY_MS_MIN;
    if (kept && (isYoung || kept.stamp === stamp)) return lent(kept.file);
    kept?.file.close();
    this.#kept.delete(path);
    const file = openStateFile(agent, path);
    if (typeof file === 'string' || !file.isCopy) return file;
    this.#kept.set(path, { file, stamp, at: this.#now() });
    return lent(file);
  };
}

function lent(file: StateFile): StateFile {
  return { ...file, close: file.endRows };
}

/** Changes whenever one of the files does. */
export function stampOf(paths: readonly string[]): string {
  const stamps = paths.map((path) => {
    const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
    return found ? `${found.ino} ${found.size} ${found.mtimeNs}` : '';
  });
  return stamps.join();
}
