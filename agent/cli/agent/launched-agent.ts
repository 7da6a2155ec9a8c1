// What `launch` starts for each of its agents: `ubiring agent` without the reading of a command line
// and a config, which would be a fifth of its start. The launch has read both; it hands the config
// over on stdin, so that its agents have one and the same, also if the file is changed meanwhile.
// A channel between the processes would let commands arrive before the config; a V8
// snapshot cannot hold the native packages. Started by the line that `agent-environment.ts` makes.

import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { formatProblems } from '../../../config/file/problem.ts';
import { codeOfError, type ExitCode, messageOf } from '../common/exit-code.ts';
import { say } from '../common/output.ts';
import { Orders } from './process-orders.ts';
import { startOf } from './start-input.ts';

const STDIN = 0;

async function main(): Promise<ExitCode> {
  process.stderr.on('error', () => {});
  const launched = process.channel !== undefined;
  const orders = new Orders(launched);
  let read: ReturnType<typeof startOf>;
  try {
    if (isatty(STDIN)) throw new Error('stdin is a terminal');
    read = startOf(readFileSync(STDIN, 'utf8'));
  } catch (error) {
    say(`this is for launch, which gives it a config; use ubiring agent (${messageOf(error)})`);
    return 2;
  }
  // Loaded late, since it takes a while: orders are heard by now.
  const { finish, runAgent } = await import('./agent-run.ts');
  if (!read.ok) {
    // A launch says it, with the agent's name.
    const problems = formatProblems(read.problems);
    if (!launched) say(problems);
    return finish(4, problems, 'failed');
  }
  try {
    return await runAgent(read.start, { orders, launched });
  } catch (error) {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return codeOfError(error);
  }
}

process.exit(await main());
