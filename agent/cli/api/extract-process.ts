// Writes an extract of a state file, in a process that can be ended: SQLite cannot be interrupted in
// the middle of a step. Arguments: the state file, the extract to write, and the names of views.

import { writeExtract } from '../../storage/file/extract.ts';
import { openForReading, whyUnreadable } from '../../storage/file/reading.ts';

const [state = '', extract = '', ...views] = process.argv.slice(2);
const opened = openForReading(state);
const why = opened.ok ? whyFailed(() => writeExtract(opened.db, views, extract)) : opened.why;
if (why !== null) {
  process.stderr.write(`${state} ${why}\n`);
  process.exitCode = 4;
}

function whyFailed(write: () => void): string | null {
  try {
    write();
    return null;
  } catch (error) {
    return whyUnreadable(error);
  }
}
