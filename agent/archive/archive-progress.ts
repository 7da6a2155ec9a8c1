// Tracks how far the database knows the archive. Pages are not committed in the order of their
// records: a short error page is done before a long list that was archived earlier. The known
// position is therefore the furthest one noted, and never moves back. Otherwise a restart would cut
// off committed records, and the last record of a file might never be confirmed to the thread.

import type { ArchivePosition } from './record/capture.ts';
import { serialOf } from './record/file-name.ts';

export class ArchiveProgress {
  #furthest: ArchivePosition | null = null;
  #isConfirmed = true;

  /**
   * Notes a place.
   * @returns the position to commit with it; null if it is not beyond the furthest one
   */
  note({ file, end, indexEnd }: ArchivePosition): ArchivePosition | null {
    const place = { file, end, indexEnd };
    if (this.#furthest !== null && !isBeyond(place, this.#furthest)) return null;
    this.#furthest = place;
    this.#isConfirmed = false;
    return place;
  }

  /**
   * Marks all noted places as committed.
   * @returns the position to confirm; null if it was confirmed before
   */
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
