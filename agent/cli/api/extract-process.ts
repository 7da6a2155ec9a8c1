// Writes an extract of a state file, in a process that can be ended: SQLite cannot be interrupted in
// the middle of a step. Arguments: the state file, the extract to write, and the names of views. Exits
// with 3 if there is no room for its files, and with 4 if the state cannot be read.

import { writeExtract } from '../../storage/file/extract.ts';
import { openForReading, whyUnreadable } from '../../storage/file/reading.ts';
import { codeOfError, messageOf, systemCode } from '../common/exit-code.ts';

const [state = '', extract = '', ...views] = process.argv.slice(2);
try {
  const opened = openForReading(state);
  if (opened.ok) writeExtract(opened.db, views, extract);
  else if (opened.scratch) end(3, messageOf(opened.scratch));
  else end(4, `${state} ${opened.why}`);
} catch (error) {
  // Only the extract and copies of the state are written.
  const isFull = codeOfError(error) === 3 || systemCode(error) === 'SQLITE_IOERR_WRITE';
  end(isFull ? 3 : 4, isFull ? messageOf(error) : `${state} ${whyUnreadable(error)}`);
}

function end(code: 3 | 4, why: string): void {
  process.stderr.write(`${why}\n`);
  process.exitCode = code;
}
