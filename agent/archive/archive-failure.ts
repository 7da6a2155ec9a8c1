// The error for an archive that cannot be read or written. The agent must then exit, because a page
// without its record does not count as done. The code says whether only space is missing.

import { statfsSync } from 'node:fs';

/** `full`: no space, or over a quota. `unwritable`: any other cause. */
type ArchiveFailureCode = 'full' | 'unwritable';

/** The message names the directory, the problem and the remedy. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
  readonly code: ArchiveFailureCode;

  constructor(code: ArchiveFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Wraps an error of the archive in `directory`; an ArchiveError is returned as it is. */
export function archiveErrorOf(error: unknown, directory: string): ArchiveError {
  if (error instanceof ArchiveError) return error;
  const why = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ArchiveError(
      'full',
      `disk full: ${directory} has ${freeKib(directory)} left, too little for the archive to ` +
        `grow (${why}); free some space there and start the agent again; a page counts as done ` +
        'only once its record is on disk',
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
