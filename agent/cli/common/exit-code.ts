// The exit codes of commands (docs/COMMANDS.md), and the code for an unexpected error.
// Every command returns one; `main.ts` gives it to the system.

/**
 * 0 finished · 1 unexpected · 2 usage · 3 disk full · 4 config invalid, data directory unwritable,
 * locked or of another crawl, state missing or damaged, work of agents would be left out · 5 port in use, refused by or unable to form the cluster ·
 * 11 interrupted, resumable.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 11;

/** Causes looked at: an error wraps another once or twice, and a circle must not hang us. */
const causesMax = 8;

/** Ends the command with this code; the message is all that is said. */
export class Refusal extends Error {
  readonly code: ExitCode;

  constructor(code: ExitCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** @returns 3 where the disk is full, else 1 */
export function codeOfError(error: unknown): 1 | 3 {
  let current = error;
  for (let depth = 0; depth < causesMax && current instanceof Error; depth++) {
    const code = 'code' in current ? current.code : undefined;
    if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') return 3;
    current = current.cause;
  }
  return 1;
}

/** What it means that nothing can be written there, with the remedy. */
export function cannotWrite(
  where: string,
  error: unknown,
): { readonly code: 3 | 4; readonly message: string } {
  const why = `cannot write ${where}: ${messageOf(error)}`;
  if (codeOfError(error) === 3) {
    return { code: 3, message: `disk full: ${why}; free some space there` };
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (['EISDIR', 'ELOOP'].includes(code)) return { code: 4, message: `${why}; move it away` };
  return { code: 4, message: `${why}; name another directory with --data` };
}

/** @returns what the error says, on one line */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s*\n\s*/g, ' ');
}
