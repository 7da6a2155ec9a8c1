// Runs a command of `ubiring` in this process for an HTTP request, with `--json`, so that the API does
// the same as the command line. Few run at the same time. Commands that only read have a limit of
// their own, so that clients with the role read cannot block those that steer.

import { Writable } from 'node:stream';
import { isRecord } from '../../messaging/checks/shape.ts';
import type { Caller, OutputStream } from '../common/caller.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { DATA_OF_CONFIG_VARIABLE } from '../common/load-config.ts';
import { causeAndRemedy } from '../common/output.ts';
import { API } from '../http/api-prefix.ts';
import { HttpProblem } from '../http/http-problem.ts';

/** More than any answer needs, to bound the memory. */
const OUTPUT_BYTES_MAX = 32 * 1024 ** 2;
/** Commands at the same time; each asks agents, and may read state files in this thread. */
const TOGETHER_MAX = { reading: 4, steering: 16 } as const;

export interface CommandSource {
  /** Path of the config file. */
  readonly file: string;
  readonly dataDir: string;
  /** Whether the user has named the data directory, so that suggested commands do, too. */
  readonly isDataGiven: boolean;
}

/** Of a command with `--data` for the source. */
export function environmentOf({ isDataGiven }: CommandSource): Readonly<Record<string, string>> {
  return { NO_COLOR: '1', ...(isDataGiven ? {} : { [DATA_OF_CONFIG_VARIABLE]: '1' }) };
}

export interface CommandLine {
  readonly name: string;
  readonly options?: readonly string[];
  /** What follows the config. */
  readonly args: readonly string[];
}

/** Tests replace the command. */
export class CommandRuns {
  readonly #source: CommandSource;
  readonly #command: typeof runCommand;
  readonly #running = { reading: 0, steering: 0 };

  constructor(source: CommandSource, command = runCommand) {
    this.#source = source;
    this.#command = command;
  }

  /**
   * @returns the JSON that the command printed, also if it exits with 1 because some agents were not
   *   reached
   * @throws HttpProblem if it failed, or too many run already
   */
  async run(command: CommandLine): Promise<unknown> {
    const kind = command.name === 'explain' ? 'reading' : 'steering';
    if (this.#running[kind] >= TOGETHER_MAX[kind]) {
      const detail = `${TOGETHER_MAX[kind]} requests of this kind run already`;
      throw new HttpProblem(503, 'command-busy', detail, 'try again in some seconds');
    }
    this.#running[kind]++;
    try {
      return await this.#command(this.#source, command);
    } finally {
      this.#running[kind]--;
    }
  }
}

async function runCommand(
  source: CommandSource,
  { name, options = [], args }: CommandLine,
): Promise<unknown> {
  const { file, dataDir } = source;
  const { commandLine } = await import('../command-line.ts');
  const stdout = new Collected();
  const stderr = new Collected();
  const heard: Caller['heard'] = { messages: [], output: false };
  // `--` ends the options: an argument of a request must not become one.
  const all = [name, '--json', '--data', dataDir, ...options, '--', file, ...args];
  const argv = ['node', 'ubiring', ...all];
  const code = await commandLine({ argv, env: environmentOf(source), stdout, stderr, heard });
  const answer = answerOf(stdout.text);
  if (answer !== null && (code === 0 || code === 1)) {
    const { stillBlockedBy, absentAgent } = heard;
    return {
      ...answer,
      ...(stillBlockedBy && { stillBlockedBy }),
      ...(absentAgent && { absentAgent }),
    };
  }
  const { cause, remedy } = causeAndRemedy(heard.messages);
  const [status, kind] = outcomeOf(code, heard.isRefused === true);
  const why = cause || `${name} exited with ${code}`;
  const help =
    code === 2
      ? `GET ${API}/openapi.json describes every request`
      : `run "ubiring ${name}" on the machine of the agent, which may say more`;
  throw new HttpProblem(status, `command-${kind}`, why, remedy || help);
}

function outcomeOf(code: ExitCode, isRefused: boolean): readonly [status: number, kind: string] {
  if (code === 2) return [400, 'invalid'];
  return isRefused ? [409, 'refused'] : [503, 'failed'];
}

/** Null if the command has printed nothing, or that it failed. */
function answerOf(text: string): object | null {
  if (text.trim() === '') return null;
  const printed = JSON.parse(text) as object;
  return isRecord(printed) && isRecord(printed.error) && 'message' in printed.error
    ? null
    : printed;
}

class Collected extends Writable implements OutputStream {
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
    this.#bytes += chunk.length;
    if (this.#bytes > OUTPUT_BYTES_MAX) return done(new Error('the output is too large'));
    this.#parts.push(chunk);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#parts).toString();
  }
}
