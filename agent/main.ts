#!/usr/bin/env node
// The executable `ubiring`. It runs a command of `cli/command-line.ts` and exits with its exit
// code, also if the reader of its output closes the pipe.

import { enableCompileCache } from 'node:module';
import { commandLine } from './cli/command-line.ts';
import { thisProcess } from './cli/common/caller.ts';
import { codeOfError, messageOf } from './cli/common/exit-code.ts';
import { say } from './cli/common/output.ts';

// Halves the time of a start, since a launch starts many agents with the same code.
enableCompileCache();

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // EPIPE: the reader, such as `head`, has read enough, which is not an error.
  const isGone = error.code === 'EPIPE';
  if (!isGone) say(`cannot write to stdout: ${messageOf(error)}`);
  // A launch has set its exit code before it prints its summary.
  process.exit(process.exitCode ?? (isGone ? (thisProcess.heard.code ?? 0) : codeOfError(error)));
});
process.stderr.on('error', () => {});

// Exits at once, although sockets to agents that do not answer may still be open.
process.exit(await commandLine(thisProcess));
