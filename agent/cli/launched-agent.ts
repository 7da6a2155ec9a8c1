// What `launch` starts for each of its agents: `ubiring agent` without the reading of a command line
// and a config, which would be a quarter of its start. The launch has read both; it hands the config
// over on stdin, so that its agents have one and the same, also if the file is changed meanwhile.
// Started by the line that `agent-environment.ts` makes.

import { readFileSync } from 'node:fs';
import { type AgentStart, runAgent } from './agent-run.ts';
import { codeOfError, type ExitCode, messageOf } from './exit-code.ts';
import { Orders } from './orders.ts';
import { say } from './output.ts';

const STDIN = 0;

async function main(): Promise<ExitCode> {
  process.stderr.on('error', () => {});
  const orders = new Orders(process.channel !== undefined);
  let start: AgentStart;
  try {
    start = JSON.parse(readFileSync(STDIN, 'utf8')) as AgentStart;
  } catch (error) {
    say(`this is for launch, which gives it a config; use ubiring agent (${messageOf(error)})`);
    return 2;
  }
  try {
    return await runAgent(start, orders);
  } catch (error) {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return codeOfError(error);
  }
}

process.exit(await main());
