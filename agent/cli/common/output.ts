// The output of commands: data on stdout, messages on stderr, aligned tables, and colours only if a
// terminal shows them and NO_COLOR does not forbid it. `printable` replaces control characters
// in texts from the web. Every command prints through this file.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters, styleText } from 'node:util';
import { caller, type OutputStream } from './caller.ts';
import type { ExitCode } from './exit-code.ts';

export interface TableColumn {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

/** Maximum bytes buffered for a slow reader of stderr; further text is dropped. */
const waitingBytesMax = 1024 ** 2;

/** Maximum number of messages kept for `failureJson`; later ones are dropped. */
const keptMax = 100;

/** A text after each message, for a program that reads messages of several lines. */
export const MESSAGE_END_VARIABLE = 'UBIRING_MESSAGE_END';

/** Prints messages on stderr, each of one or more whole lines. */
export function say(...texts: readonly string[]): void {
  const { heard, env } = caller();
  const { messages } = heard;
  messages.push(...texts.slice(0, keptMax - messages.length));
  const end = `${env[MESSAGE_END_VARIABLE] ?? ''}\n`;
  if (texts.length > 0) writeStderr(texts.map((text) => `${text}${end}`).join(''));
}

export function warn(text: string): void {
  say(`${styled('yellow', 'warning:', caller().stderr)} ${text}`);
}

/**
 * The output of `--json` for a command that failed before it printed anything, so that a reader of
 * stdout always gets JSON. Null if something was printed.
 *
 * @param command - its name; absent: the arguments name none
 */
export function failureJson(code: number, command = ''): string | null {
  const { messages, output } = caller().heard;
  if (output) return null;
  const plain = messages.map((text) => stripVTControlCharacters(text));
  const { cause, remedy } = causeAndRemedy(plain);
  const help = [programName(), command, '--help'].filter((word) => word !== '').join(' ');
  const error = { code, message: plain.join('\n'), cause, remedy: remedy || `see ${help}` };
  return `${JSON.stringify({ error })}\n`;
}

/** The first line of a stack trace, and all that follows: an unexpected error names no remedy. */
const TRACE = /\n {4}at .*$/s;

/**
 * Messages have the form `CAUSE; REMEDY`, and further lines say what to do. Lines in brackets, such as
 * those of commander, do so, too.
 */
export function causeAndRemedy(messages: readonly string[]): {
  readonly cause: string;
  readonly remedy: string;
} {
  const causes: string[] = [];
  /** Several agents may say the same. */
  const remedies = new Set<string>();
  for (const message of messages) {
    const said = message.replace(TRACE, '');
    const [, cause, remedy] = /^((?:(?!; |\n|^\().)*)(?:; |\n)?(.*)$/s.exec(said)!;
    if (cause) causes.push(cause);
    if (remedy) remedies.add(remedy.trim());
  }
  return { cause: causes.join('\n'), remedy: [...remedies].join('\n') };
}

/** Writes whole lines to stderr. Never blocks; drops the text if the buffer is full. */
export function writeStderr(text: string): void {
  const { stderr } = caller();
  if (stderr.writableLength > waitingBytesMax) return;
  // All writers of a pipe share its blocking mode, and each process that starts with this
  // pipe as its stderr turns blocking on. A blocked write would stop the whole process.
  if (!stderr.isTTY) (stderr as StreamWithHandle)._handle?.setBlocking?.(false);
  stderr.write(text);
}

/** Node's streams over pipes and sockets have a handle; those over files have none. */
type StreamWithHandle = OutputStream & {
  readonly _handle?: { setBlocking?(isBlocking: boolean): number };
};

/**
 * Prints data on stdout. Resolves when the system has accepted it, so that a slow reader slows the
 * writer; never resolves if the reader has gone (`main.ts` then ends the process).
 *
 * @param code - the exit code of the command, also if the reader has gone; absent: 0 then
 */
export function print(text: string, code?: ExitCode): Promise<void> {
  const { stdout, heard } = caller();
  if (code !== undefined) heard.code = code;
  if (text !== '') heard.output = true;
  return new Promise((resolve) => {
    stdout.write(text, (error) => {
      if (!error) resolve();
    });
  });
}

/**
 * Prints the result of each agent: one line each, or a JSON object.
 *
 * @param code - see `print`
 */
export function printResults(
  results: readonly (readonly [agent: string, result: string])[],
  json: boolean | undefined,
  code: ExitCode,
): Promise<void> {
  if (json) return print(`${JSON.stringify(Object.fromEntries(results))}\n`, code);
  const lines = results.map(([agent, said]) => `${printable(`${agent}: ${said}`)}\n`);
  return print(lines.join(''), code);
}

/** The text in a style, if `stream` is a terminal that shows colours. */
export function styled(style: Style, text: string, stream: OutputStream): string {
  return styleText(style, text, { stream, validateStream: true });
}

/** Set by programs that run commands for a model, which reads lines and not screens. */
const READERS = ['AI_AGENT', 'CLAUDECODE', 'CURSOR_AGENT'];

/** Whether text may be redrawn in place on `stream`: a person watches it on a terminal. */
export function isScreen(stream: OutputStream, env: NodeJS.ProcessEnv = caller().env): boolean {
  const isPlain = env.TERM === 'dumb' || [...READERS, 'NO_COLOR'].some((name) => env[name]);
  return stream.isTTY === true && !isPlain;
}

/** The text on one line, with a replacement character for each control character. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '�');
}

/** @returns lines of padded cells under their titles, without a newline at the end */
export function renderTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
): string {
  const cells = rows.map((row) => row.map(printable));
  const widths = columns.map(({ title }, k) =>
    Math.max(title.length, ...cells.map((row) => row[k]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    columns
      .map(({ align }, k) => pad(row[k] ?? '', widths[k]!, align ?? 'left'))
      .join('  ')
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...cells.map(line)].join('\n');
}

/** The text padded to `width` characters; a longer text is unchanged. */
export function pad(text: string, width: number, align: 'left' | 'right'): string {
  return align === 'right' ? text.padStart(width) : text.padEnd(width);
}

/** The text with at most `width` characters; the end of a longer text becomes an ellipsis. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** @returns `1,234,567` */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** @returns `12.3 MiB` */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/**
 * @param at - Unix milliseconds
 * @returns ISO 8601, UTC
 */
export function dateText(at: number): string {
  return new Date(at).toISOString();
}

/** @returns `7 s`, `3 min 20 s`, `2 h 05 min`, `4 d 3 h` */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Delays below a minute with all their digits. */
export function delayText(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  return ms < 60_000 ? `${ms / 1000} s` : durationText(ms);
}

/** The version of this package; `dist/agent/cli/common/` is one level deeper. */
export function version(): string {
  for (const up of ['../../..', '../../../..']) {
    try {
      const text = readFileSync(path.join(import.meta.dirname, up, 'package.json'), 'utf8');
      const { name, version } = JSON.parse(text) as { name?: string; version?: string };
      if (name === 'ubiring' && version !== undefined) return version;
    } catch {
      // Tried again one level up.
    }
  }
  return 'unknown';
}

/**
 * The program as the user called it, for messages that suggest a command.
 *
 * @param env - npm sets its script and package there
 */
export function programName(env: NodeJS.ProcessEnv = caller().env): string {
  const script = env.npm_lifecycle_event;
  if (script === undefined) return 'ubiring';
  const inCheckout = script !== 'npx' && env.npm_package_name === 'ubiring';
  return inCheckout ? 'npm run -s ubiring --' : 'npx ubiring';
}
