#!/usr/bin/env node
// The process of the command line `ubiring`, whose commands are in `cli/command-line.ts`: it ends
// with what the command ends with, and quietly where nobody reads its output any more.

import { enableCompileCache } from 'node:module';
import { commandLine } from './cli/command-line.ts';
import { thisProcess } from './cli/common/caller.ts';
import { codeOfError, messageOf } from './cli/common/exit-code.ts';
import { say } from './cli/common/output.ts';

// Agents start in bursts, all of the same code: compiling it once halves what each start costs.
enableCompileCache();

/** `| head` has read enough: that is no failure of ours. */
function endQuietlyWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') say(`stdout cannot be written: ${messageOf(error)}`);
    // What a launch ends with is known before it prints its summary.
    process.exit(process.exitCode ?? (error.code === 'EPIPE' ? 0 : codeOfError(error)));
  });
  process.stderr.on('error', () => {});
}

endQuietlyWithoutReader();
// Sockets to agents that do not answer may still be open: nothing is waited for any more.
process.exit(await commandLine(thisProcess));
