// Runs a command as the user nobody: `as-nobody.ts MODULE COMMAND ARGUMENTS`. MODULE is the file of
// the command below `agent/cli`, and ARGUMENTS are its arguments as JSON. The process loads all
// code as root, so that nobody needs no read access to the checkout.

import Database from 'better-sqlite3';

const NOBODY = 65_534;

const [, , module = '', name = '', args = '[]'] = process.argv;
const { [name]: command } = await import(`../../agent/cli/${module}`);
// Loads the native module.
new Database(':memory:').close();
process.setgroups?.([]);
process.setgid?.(NOBODY);
process.setuid?.(NOBODY);
process.exit(await command(...JSON.parse(args)));
