// Runs a command as the user nobody, in a process of its own: `as-nobody.ts MODULE COMMAND...`.
// MODULE is the command's file below `agent/cli`. The process is root until all code is loaded, so
// the user need not be able to read the checkout.

import Database from 'better-sqlite3';
import { commandLine } from '../../agent/cli/command-line.ts';
import { thisProcess } from '../../agent/cli/common/caller.ts';

const NOBODY = 65_534;

const [node = '', script = '', module = '', ...args] = process.argv;
await import(`../../agent/cli/${module}`);
// Loads the native part.
new Database(':memory:').close();
process.setgroups?.([]);
process.setgid?.(NOBODY);
process.setuid?.(NOBODY);
const { env, stdout, stderr, heard } = thisProcess;
process.exit(await commandLine({ argv: [node, script, ...args], env, stdout, stderr, heard }));
