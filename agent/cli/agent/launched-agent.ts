// The program that `launch` starts for each agent: `ubiring agent` without parsing a command line or
// a config, which would take a fifth of its start. The config comes on stdin, so that all agents have
// the same one, even if the file changes meanwhile. It does not come over the channel of
// `child_process`, where commands could arrive before it; and a V8 snapshot cannot contain native
// packages.

import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { formatProblems } from '../../../config/file/problem.ts';
import { codeOfError, type ExitCode, messageOf } from '../common/exit-code.ts';
import { say } from '../common/output.ts';
import { ProcessSignals } from './process-signals.ts';
import { startOf } from './start-input.ts';

const STDIN = 0;

async function main(): Promise<ExitCode> {
  process.stderr.on('error', () => {});
  const launched = process.channel !== undefined;
  const signals = new ProcessSignals(launched);
  let read: ReturnType<typeof startOf>;
  try {
    if (isatty(STDIN)) throw new Error('stdin is a terminal');
    read = startOf(readFileSync(STDIN, 'utf8'));
  } catch (error) {
    say(`this is for launch, which gives it a config; use ubiring agent (${messageOf(error)})`);
    return 2;
  }
  // Imported late, because it takes long: signals are handled by now.
  const { finish, runAgent } = await import('./agent-run.ts');
  if (!read.ok) {
    // The launch reports the problems itself, with the agent's name.
    const problems = formatProblems(read.problems);
    if (!launched) say(problems);
    return finish(4, problems, 'failed');
  }
  try {
    return await runAgent(read.start, { signals, launched });
  } catch (error) {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return codeOfError(error);
  }
}

process.exit(await main());
