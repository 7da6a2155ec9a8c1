// Runs a command as the user nobody: `as-nobody.ts MODULE COMMAND ARGUMENTS`. MODULE is the file of
// the command below `agent/cli`, and ARGUMENTS are its arguments as JSON. The process loads all
// code as root, so that nobody needs no read access to the checkout.

import Database from 'better-sqlite3';
import { Refusal } from '../../agent/cli/common/exit-code.ts';

const NOBODY = 65_534;

const [, , module = '', name = '', args = '[]'] = process.argv;
const { [name]: command } = await import(`../../agent/cli/${module}`);
// Loads the native module.
new Database(':memory:').close();
process.setgroups?.([]);
process.setgid?.(NOBODY);
process.setuid?.(NOBODY);
try {
  process.exit(await command(...JSON.parse(args)));
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  process.exit(error.code);
}
