// The exit codes of commands, and the mapping from errors to them. The end of an agent is decided in
// `core/lifecycle/shutdown.ts`, that of a launch in `launch/agent-exits.ts`.

import { scratchFailure } from '../../storage/file/scratch-directory.ts';

/** docs/COMMANDS.md has the meaning of each code. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 11;

/** Maximum number of nested causes that are searched, since a chain of causes may be circular. */
const causesMax = 8;

/** Ends the command with this exit code; only the message is printed. */
export class Refusal extends Error {
  readonly code: ExitCode;

  constructor(code: ExitCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** @returns 3 if the disk is full, else 1 */
export function codeOfError(error: unknown): 1 | 3 {
  let current = error;
  for (let depth = 0; depth < causesMax && current instanceof Error; depth++) {
    if (['SQLITE_FULL', 'ENOSPC', 'EDQUOT'].includes(systemCode(current))) return 3;
    current = current.cause;
  }
  return 1;
}

/**
 * The end of the command if the directory for temporary files cannot be used.
 *
 * @param what - what could not be done, as a clause; absent: the error says it
 */
export function scratchRefusal(error: unknown, what = scratchFailure(error)): Refusal {
  return new Refusal(codeOfError(error) === 3 ? 3 : 4, what);
}

/**
 * Errors of SQLite in a command that only reads: it writes only to the directory for temporary files.
 *
 * @returns the end of the command; null if the error is another one
 */
export function scratchEnd(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  const isScratch = codeOfError(error) === 3 || systemCode(error) === 'SQLITE_IOERR_GETTEMPPATH';
  return isScratch ? scratchRefusal(error) : null;
}

/** Exit code and message, with a remedy, for a failed write. */
export function cannotWrite(
  where: string,
  error: unknown,
): { readonly code: 3 | 4; readonly message: string } {
  const why = `cannot write ${where}: ${messageOf(error)}`;
  if (codeOfError(error) === 3) {
    return { code: 3, message: `disk full: ${why}; free some space there` };
  }
  if (['EISDIR', 'ELOOP'].includes(systemCode(error)))
    return { code: 4, message: `${why}; move it away` };
  return { code: 4, message: `${why}; name another directory with --data` };
}

/** @returns the `code` of an error of the system or SQLite, such as `ENOENT`; else an empty string */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** @returns the message of the error on one line */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s*\n\s*/g, ' ');
}
