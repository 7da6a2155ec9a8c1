// Runs `ubiring query` for an HTTP request in a process of its own, which is killed if it takes too
// long or prints too much: SQLite cannot be interrupted in the middle of a step.

import { type ChildProcess, spawn } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpProblem } from '../http/http-problem.ts';
import type { CommandSource } from './command-run.ts';

const TAKES_MS_MAX = 20_000;
const OUTPUT_BYTES_MAX = 8 * 1024 ** 2;
const ERROR_CHARACTERS_MAX = 2000;
/** The heap of JavaScript; `query` limits the memory of SQLite. */
const HEAP_MB_MAX = 256;
const TOGETHER_MAX = 2;
/**
 * For a query whose server was killed: seconds of processor time. For its files: blocks of 512 bytes,
 * so that they do not fill the disk that agents need.
 */
const LIMITED = `ulimit -t ${Math.ceil((1.5 * TAKES_MS_MAX) / 1000)} && ulimit -f 524288 && exec "$@"`;

export class QueryRuns {
  readonly #source: CommandSource;
  readonly #running = new Set<ChildProcess>();

  constructor(source: CommandSource) {
    this.#source = source;
  }

  /**
   * @param signal - the client has gone
   * @returns JSON: the rows, and the problems with state files that were read in part or not at all
   * @throws HttpProblem if the query is wrong or reaches a limit
   */
  async run(sql: string, signal: AbortSignal): Promise<Buffer> {
    if (this.#running.size >= TOGETHER_MAX) {
      const detail = `${TOGETHER_MAX} queries run already`;
      throw new HttpProblem(503, 'queries-busy', detail, 'try again in some seconds');
    }
    const { file, dataDir } = this.#source;
    const main = fileURLToPath(new URL(`../../main${extname(import.meta.url)}`, import.meta.url));
    const query = ['query', '--json', '--data', dataDir, '--', file, sql];
    const command = [process.execPath, `--max-old-space-size=${HEAP_MB_MAX}`, main, ...query];
    const child = spawn('/bin/sh', ['-c', LIMITED, 'sh', ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
    });
    this.#running.add(child);
    const kill = () => void child.kill('SIGKILL');
    const late = setTimeout(kill, TAKES_MS_MAX);
    signal.addEventListener('abort', kill);
    try {
      return await outputOf(child);
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', kill);
      this.#running.delete(child);
    }
  }

  close(): void {
    for (const child of this.#running) child.kill('SIGKILL');
  }
}

/** The answer begins with the rows, as the command prints them. */
const ROWS = Buffer.from('{"rows":');

function outputOf(child: ChildProcess): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  let said = '';
  child.stdout!.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > OUTPUT_BYTES_MAX) child.kill('SIGKILL');
    else parts.push(part);
  });
  child.stderr!.on('data', (part: Buffer) => {
    said = `${said}${part}`.slice(0, ERROR_CHARACTERS_MAX);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, endedBy) => {
      const output = Buffer.concat(parts);
      if (bytes > OUTPUT_BYTES_MAX) {
        const detail = `the rows have more than ${OUTPUT_BYTES_MAX / 1024 ** 2} MB`;
        reject(new HttpProblem(413, 'query-too-large', detail, 'add a LIMIT to the query'));
      } else if (code === 0 || (code === 4 && output.toString('latin1', 0, 1) === '[')) {
        const problems = code === 0 ? [] : said.trim().split('\n');
        resolve(
          Buffer.concat([ROWS, output, Buffer.from(`,"problems":${JSON.stringify(problems)}}`)]),
        );
      } else if ((endedBy !== null && endedBy !== 'SIGKILL') || said.includes('disk I/O error')) {
        const detail = `the query needs too much memory or disk: ${endedBy ?? said.trim()}`;
        reject(new HttpProblem(413, 'query-too-costly', detail, 'narrow it to some hosts'));
      } else if (code === null) {
        const detail = `the query took more than ${TAKES_MS_MAX / 1000} s`;
        const remedy = 'narrow it to some hosts, or run "ubiring query" on the command line';
        reject(new HttpProblem(504, 'query-too-long', detail, remedy));
      } else {
        const why = said.trim() || `the query ended with ${code}`;
        reject(
          new HttpProblem(400, 'query-failed', why, 'docs/VIEWS.md lists the views and columns'),
        );
      }
    });
  });
}
