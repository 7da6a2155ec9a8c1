// Runs a command as the user nobody: `as-nobody.ts MODULE COMMAND ARGUMENTS`, where MODULE is the
// command's file below `agent/cli` and ARGUMENTS the JSON of its arguments. The process is root until
// all code is loaded, so the user need not be able to read the checkout.

import Database from 'better-sqlite3';

const NOBODY = 65_534;

const [, , module = '', name = '', args = '[]'] = process.argv;
const { [name]: command } = await import(`../../agent/cli/${module}`);
// Loads the native part.
new Database(':memory:').close();
process.setgroups?.([]);
process.setgid?.(NOBODY);
process.setuid?.(NOBODY);
process.exit(await command(...JSON.parse(args)));
