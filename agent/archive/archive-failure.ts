// What it means that the archive cannot be written: the agent must end, since a page without its
// record may not count as done. The code says whether space is all that it needs; agent.ts makes
// an exit code of it.

import { statfsSync } from 'node:fs';

/** `full`: no space, or over a quota. `unwritable`: whatever else. */
export type ArchiveFailureCode = 'full' | 'unwritable';

/** Names the directory, what is wrong and the remedy. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
  readonly code: ArchiveFailureCode;

  constructor(code: ArchiveFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The error as one of the archive in that directory; one that is already stays as it is. */
export function archiveErrorOf(error: unknown, directory: string): ArchiveError {
  if (error instanceof ArchiveError) return error;
  const why = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ArchiveError(
      'full',
      `disk full: ${directory} has ${freeKib(directory)} left, too little for the archive to grow ` +
        `(${why}); free some space there and start the agent again: no page counts as done ` +
        'whose record is not on disk',
    );
  }
  return new ArchiveError(
    'unwritable',
    `cannot read or write in ${directory}: ${why}; look at the disk and its permissions and ` +
      'start the agent again, or set archive.warc to false',
  );
}

function freeKib(directory: string): string {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return `${Math.floor((bavail * bsize) / 1024)} KiB`;
  } catch {
    return 'an unknown amount';
  }
}
