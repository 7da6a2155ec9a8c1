// Writes an extract of a state file, in a process that can be ended: SQLite cannot be interrupted in
// the middle of a step. Arguments: the state file, the extract to write, and the names of views.

import { writeExtract } from '../../storage/file/extract.ts';
import { openForReading } from '../../storage/file/reading.ts';

const [state = '', extract = '', ...views] = process.argv.slice(2);
const opened = openForReading(state);
if (opened.ok) {
  writeExtract(opened.db, views, extract);
  opened.db.close();
} else {
  process.stderr.write(`${state} ${opened.why}\n`);
  process.exitCode = 4;
}
