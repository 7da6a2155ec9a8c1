// A command on a pseudo terminal of script(1), with keys that a test presses. Afterwards the shell
// of the terminal says how the command ended and how it left the terminal.

import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const main = path.resolve(import.meta.dirname, '../../agent/main.ts');
/** What `isScreen` takes for a sign that nobody watches, and what npm adds. */
const unset = ['NO_COLOR', 'AI_AGENT', 'CLAUDECODE', 'CURSOR_AGENT', 'npm_lifecycle_event'];

/** Why terminals cannot be tested; false: they can. */
export const noTerminal =
  process.platform === 'linux' && spawnSync('script', ['--version']).status === 0
    ? false
    : 'the system has no script(1) of util-linux';

export class Terminal {
  readonly #script;
  #output = '';

  /** Starts the command with these arguments at 80 columns. */
  constructor(args: readonly string[], how: 'foreground' | 'background' = 'foreground') {
    const command = [process.execPath, main, ...args].map((word) => `"${word}"`).join(' ');
    const run = `sh -c 'echo pid=$$.; exec ${command}'`;
    // With job control, each job is a process group, and the terminal belongs to that of the shell.
    const started = how === 'foreground' ? run : `set -m; ${run} < "$(tty)" & wait $!`;
    const line =
      `stty rows 24 cols 80; echo "tty=$(tty)."; ${started}; ` +
      'echo "code=$?."; stty -a; echo ended.';
    const env = { ...process.env, TERM: 'xterm' };
    for (const name of unset) delete (env as NodeJS.ProcessEnv)[name];
    this.#script = spawn('script', ['-qec', line, '/dev/null'], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#script.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
  }

  /** All that was written so far. */
  get output(): string {
    return this.#output;
  }

  /** The last whole frame, without styles. */
  get frame(): string {
    const frame = this.#output.split('\u001b[H').findLast((text) => text.includes('\u001b[J'));
    return stripVTControlCharacters(frame ?? '').replaceAll('\r', '');
  }

  /** The last whole block of lines, without styles. */
  get block(): string {
    const block = this.#output.split('\u001b[?7l').findLast((text) => text.includes('\u001b[?7h'));
    const [lines = ''] = block?.split('\u001b[?7h') ?? [];
    return stripVTControlCharacters(lines).replaceAll('\r', '');
  }

  /** A value that the shell has printed; '' before that. */
  said(name: 'tty' | 'pid' | 'code'): string {
    return new RegExp(`${name}=(.+?)\\.\\r`).exec(this.#output)?.[1] ?? '';
  }

  /** Whether the shell has ended, and the terminal shows what is typed, line by line. */
  get isRestored(): boolean {
    const [, state = ''] = this.#output.split('code=');
    return /ended\./.test(state) && / icanon\b/.test(state) && / echo\b/.test(state);
  }

  press(keys: string): void {
    this.#script.stdin.write(keys);
  }

  resize(rows: number, columns: number): void {
    const size = ['rows', String(rows), 'cols', String(columns)];
    spawnSync('stty', ['-F', this.said('tty'), ...size]);
  }

  end(): void {
    this.#script.kill('SIGKILL');
  }
}
