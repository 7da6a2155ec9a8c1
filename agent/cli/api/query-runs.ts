// Reads state files for HTTP requests in processes of their own, which are killed if they take too
// long or write too much: SQLite cannot be interrupted in the middle of a step.

import { type ChildProcess, spawn } from 'node:child_process';
import { createReadStream, openSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  removeScratch,
  scratchDirectory,
  scratchEnvironment,
  scratchFailure,
} from '../../storage/file/scratch-directory.ts';
import { causeAndRemedy, MESSAGE_END_VARIABLE } from '../common/output.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { keysText, REMOTE_KEYS_VARIABLE } from '../remote/remote-keys.ts';
import { REMOTE_BYTES_VARIABLE, REMOTE_MS_VARIABLE } from '../remote/remote-states.ts';
import { type CommandSource, environmentOf } from './command-run.ts';

const OUTPUT_BYTES_MAX = 8 * 1024 ** 2;
const ERROR_CHARACTERS_MAX = 2000;
/** The heap of JavaScript. */
const HEAP_MB_MAX = 256;
/**
 * All memory that the process may write. V8 reserves half of it for code, so SQLite gets about as
 * much as JavaScript. It sorts on disk what needs more; an expression that needs more fails.
 */
const MEMORY_BYTES_MAX = 1024 ** 3;
const BLOCK_BYTES = 512;
/** The separator of records: no message has it. */
const MESSAGE_END = '\u001e';

interface Limits {
  readonly what: 'query' | 'extract';
  readonly msMax: number;
  /** Of each file that it writes, so that files do not fill the disk that agents need. */
  readonly fileBytesMax: number;
  /** Processes at the same time. */
  readonly togetherMax: number;
}

const QUERY: Limits = {
  ...{ what: 'query', msMax: 20_000, fileBytesMax: 256 * 1024 ** 2, togetherMax: 2 },
};
const EXTRACT: Limits = {
  ...{ what: 'extract', msMax: 60_000, fileBytesMax: 1024 ** 3, togetherMax: 4 },
};
/** The rows of other agents are read and sent in the rest of the time of a query. */
const REMOTE_MS_MAX = 10_000;
/** A client that reads an extract slowly keeps its space on the disk. */
const SENT_MS_MAX = 300_000;

export class QueryRuns {
  readonly #source: CommandSource;
  readonly #keys: readonly Buffer[];
  readonly #notes: () => Promise<readonly string[]>;
  readonly #running = new Set<ChildProcess>();
  /** For the temporary files of those that run. */
  readonly #directories = new Set<string>();
  readonly #counts = { query: 0, extract: 0 };

  /**
   * @param keys - for requests to agents on other machines
   * @param notes - sentences about states that a query does not read, although no rows are missing
   */
  constructor(
    source: CommandSource,
    keys: readonly Buffer[],
    notes: () => Promise<readonly string[]> = async () => [],
  ) {
    this.#source = source;
    this.#keys = keys;
    this.#notes = notes;
  }

  /**
   * @param signal - the client has gone, or has read the answer; until then the query counts as
   *   running, because its answer is in memory
   * @returns JSON: the rows, and the problems with states that were read in part or not at all
   * @throws HttpProblem if the query is wrong or reaches a limit
   */
  async query(sql: string, signal: AbortSignal): Promise<Buffer> {
    const end = this.#begin(QUERY);
    const { file, dataDir } = this.#source;
    const query = ['query', '--json', '--data', dataDir, '--', file, sql];
    try {
      const ended = await this.#inDirectory(QUERY, (directory) =>
        this.#run([scriptOf('../../main'), ...query], QUERY, { directory, signal }),
      );
      const { code, said, output } = ended;
      const isPartial = code === 4 && output.toString('latin1', 0, 1) === '[';
      if (code !== 0 && !isPartial) throw problemOf(ended, QUERY);
      const messages = code === 0 ? [] : messagesIn(said).map(onOneLine);
      const problems = JSON.stringify([...new Set([...(await this.#notes()), ...messages])]);
      const columns = JSON.stringify(columnsIn(output));
      if (signal.aborted) end();
      else signal.addEventListener('abort', end);
      return Buffer.concat([
        ROWS,
        output,
        Buffer.from(`,"columns":${columns},"problems":${problems}}`),
      ]);
    } catch (error) {
      end();
      throw error;
    }
  }

  /**
   * @param state - path of a state file
   * @param views - names of views
   * @returns the bytes of the extract, see `writeExtract`
   * @throws HttpProblem if the file cannot be read or is too large
   */
  async extract(state: string, views: readonly string[], signal: AbortSignal): Promise<Readable> {
    const end = this.#begin(EXTRACT);
    try {
      const bytes = await this.#inDirectory(EXTRACT, async (directory) => {
        const path = join(directory, 'state.sqlite');
        const command = [scriptOf('extract-process'), state, path, ...views];
        const ended = await this.#run(command, EXTRACT, { directory, signal });
        if (ended.code !== 0) throw problemOf(ended, EXTRACT);
        // The open file stays readable.
        return createReadStream('', { fd: openSync(path, 'r') });
      });
      const late = setTimeout(() => bytes.destroy(), SENT_MS_MAX);
      bytes.once('close', () => {
        clearTimeout(late);
        end();
      });
      return bytes;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** @returns to be called when the run has ended */
  #begin({ what, togetherMax }: Limits): () => void {
    if (this.#counts[what] >= togetherMax) {
      const detail = `${togetherMax} requests of this kind run already`;
      throw new HttpProblem(503, `${what}-busy`, detail, 'try again in some seconds');
    }
    this.#counts[what]++;
    return () => void this.#counts[what]--;
  }

  /** A process that is killed leaves its temporary files, so it gets a directory that is removed. */
  async #inDirectory<T>(limits: Limits, act: (directory: string) => Promise<T>): Promise<T> {
    const directory = madeDirectory(limits);
    this.#directories.add(directory);
    try {
      return await act(directory);
    } finally {
      removeScratch(directory);
      this.#directories.delete(directory);
    }
  }

  async #run(
    script: readonly string[],
    { msMax, fileBytesMax }: Limits,
    { directory, signal }: { readonly directory: string; readonly signal: AbortSignal },
  ): Promise<Ended> {
    // Processor time, for a process whose server was killed.
    const seconds = Math.ceil((1.5 * msMax) / 1000);
    const blocks = fileBytesMax / BLOCK_BYTES;
    const limits = `ulimit -t ${seconds} && ulimit -f ${blocks} && ulimit -d ${MEMORY_BYTES_MAX / 1024}`;
    const command = [process.execPath, `--max-old-space-size=${HEAP_MB_MAX}`, ...script];
    const remote = {
      [REMOTE_KEYS_VARIABLE]: keysText(this.#keys),
      [REMOTE_MS_VARIABLE]: String(REMOTE_MS_MAX),
      [REMOTE_BYTES_VARIABLE]: String(fileBytesMax),
      [MESSAGE_END_VARIABLE]: MESSAGE_END,
    };
    const files = scratchEnvironment(directory);
    const child = spawn('/bin/sh', ['-c', `${limits} && exec "$@"`, 'sh', ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...remote, ...files, ...environmentOf(this.#source) },
    });
    this.#running.add(child);
    const kill = () => void child.kill('SIGKILL');
    const late = setTimeout(kill, msMax);
    signal.addEventListener('abort', kill);
    if (signal.aborted) kill();
    try {
      return await endOf(child);
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', kill);
      this.#running.delete(child);
    }
  }

  close(): void {
    for (const child of this.#running) child.kill('SIGKILL');
    for (const directory of this.#directories) removeScratch(directory);
  }
}

/** @throws HttpProblem if there is no room */
function madeDirectory(limits: Limits): string {
  try {
    return scratchDirectory();
  } catch (error) {
    throw unwritable(limits, error);
  }
}

function unwritable(limits: Limits, error: unknown): HttpProblem {
  const [detail = '', remedy = ''] = scratchFailure(error).split('; ');
  return noRoom(limits, detail, remedy);
}

function noRoom({ what }: Limits, detail: string, remedy: string): HttpProblem {
  const where = `${remedy} on the machine of the agent`;
  return new HttpProblem(503, `${what}-unwritable`, detail, where);
}

/** A script of this folder, with the extension of this file. */
function scriptOf(name: string): string {
  return fileURLToPath(new URL(`${name}${extname(import.meta.url)}`, import.meta.url));
}

/** The answer begins with the rows, as the command prints them. */
const ROWS = Buffer.from('{"rows":');

/** The names in the first row: one on a line, whose values are plain. A parser would sort numbers. */
function columnsIn(output: Buffer): string[] {
  const [, row = ''] = output.toString('utf8', 0, output.indexOf('\n', 2)).split('\n');
  const strings = row.matchAll(/("(?:[^"\\]|\\.)*")(:?)/g);
  return [...strings].flatMap(([, name, colon]) => (colon ? [String(JSON.parse(name!))] : []));
}

interface Ended {
  /** Null: a signal has ended it. */
  readonly code: number | null;
  readonly endedBy: NodeJS.Signals | null;
  readonly output: Buffer;
  readonly isTooLarge: boolean;
  /** On stderr. */
  readonly said: string;
}

function endOf(child: ChildProcess): Promise<Ended> {
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
      const isTooLarge = bytes > OUTPUT_BYTES_MAX;
      resolve({ code, endedBy, output: Buffer.concat(parts), isTooLarge, said });
    });
  });
}

/** What to do about one that needs too much. */
const NARROWER = {
  query: 'narrow it to some hosts, or run "ubiring query" on the machine of the agent',
  extract: 'copy the directories of all agents into one, and name it with --data',
} as const;

function problemOf({ code, endedBy, isTooLarge, said }: Ended, limits: Limits): HttpProblem {
  const { what, msMax } = limits;
  if (isTooLarge) {
    const detail = `the rows have more than ${OUTPUT_BYTES_MAX / 1024 ** 2} MB`;
    return new HttpProblem(413, `${what}-too-large`, detail, 'add a LIMIT to the query');
  }
  // A rejected statement is repeated in its message.
  const isFull = /^the query failed: (disk I\/O error|out of memory)/m.test(said);
  if ((endedBy !== null && endedBy !== 'SIGKILL') || isFull) {
    const detail = `the ${what} needs too much memory or disk: ${endedBy ?? messagesIn(said).join('; ')}`;
    return new HttpProblem(413, `${what}-too-costly`, detail, NARROWER[what]);
  }
  if (code === null) {
    const detail = `the ${what} took more than ${msMax / 1000} s`;
    return new HttpProblem(504, `${what}-too-long`, detail, NARROWER[what]);
  }
  const why = said.trim() || `the ${what} ended with ${code}`;
  if (what === 'extract') {
    if (code === 3) return unwritable(limits, why);
    return new HttpProblem(409, 'state-unreadable', why, 'its dashboard names the remedy');
  }
  const messages = messagesIn(why);
  // Those before it name states that are missing.
  const { cause, remedy } = causeAndRemedy(messages.slice(-1));
  if (code === 3) return noRoom(limits, cause, remedy);
  if (code !== 2) return faultOf(messages);
  return new HttpProblem(400, `${what}-failed`, cause, remedy || 'docs/VIEWS.md has the views');
}

/** The statement is not to blame: the config or the data directory is, as for other commands. */
function faultOf(messages: readonly string[]): HttpProblem {
  const { cause, remedy } = causeAndRemedy(messages);
  const help = 'run "ubiring query" on the machine of the agent, which may say more';
  return new HttpProblem(503, 'command-failed', cause, remedy || help);
}

/** What the command said. */
function messagesIn(said: string): string[] {
  const texts = said.split(MESSAGE_END).map((text) => text.trim());
  return texts.filter((text) => text !== '');
}

/** The cause, which is the first line, and what to do. */
function onOneLine(message: string): string {
  return message.replace(/\n\s*/, '; ').replaceAll(/\s*\n\s*/g, ' ');
}
