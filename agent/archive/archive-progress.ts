// How far the database knows the archive. Pages are taken in by the turns in the order in which
// they were understood, which is not that of their records: a short error page is done before the
// long list that was archived before it. What is known is therefore the furthest place that was
// taken in, and never goes back: a start would cut committed records off, and the thread would
// wait for ever to be told that a file's last record is committed. Kept by agent.ts.

import type { ArchivePosition } from './record/capture.ts';
import { serialOf } from './record/file-name.ts';

export class ArchiveProgress {
  #furthest: ArchivePosition | null = null;
  #isConfirmed = true;

  /** Takes a place in; gives the position to commit with it, null where it is no step forward. */
  note({ file, end, indexEnd }: ArchivePosition): ArchivePosition | null {
    const place = { file, end, indexEnd };
    if (this.#furthest !== null && !isBeyond(place, this.#furthest)) return null;
    this.#furthest = place;
    this.#isConfirmed = false;
    return place;
  }

  /** All that was noted is committed; gives the position to confirm, null where it was before. */
  committed(): ArchivePosition | null {
    if (this.#isConfirmed) return null;
    this.#isConfirmed = true;
    return this.#furthest;
  }
}

function isBeyond(a: ArchivePosition, b: ArchivePosition): boolean {
  if (a.file === b.file) return a.end > b.end;
  return serialOf(a.file) > serialOf(b.file);
}
