// The process that `checkInBackground` starts. It examines the state file named on its command line
// and prints the finding as one line of JSON. After a disk error it prints a stack trace on stderr
// and fails.

import { examineWhole } from './examination.ts';

export interface BackgroundFinding {
  /** A clause that follows the name of the file; null: the file is sound. */
  readonly damage: string | null;
}

const [, , path = ''] = process.argv;
const found = examineWhole(path);
const finding: BackgroundFinding = { damage: found.kind === 'damaged' ? found.why : null };
process.stdout.write(`${JSON.stringify(finding)}\n`);
