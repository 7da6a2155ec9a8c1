// `ubiring check`: prints what the crawler would decide, by its own code and without crawling. It reads
// questions from stdin, one JSON object per line, and answers each with one JSON line in the same order.
// The answer to an invalid line is `{"error": …}`.

import { z } from 'zod';
import { type ExitCode, messageOf } from '../common/exit-code.ts';
import { type CommonFlags, load } from '../common/load-config.ts';
import { count, print, say } from '../common/output.ts';
import { type Answerer, answererOf, type CheckSettings } from './check-answers.ts';
import { type Line, linesOf } from './check-lines.ts';
import type { Subject } from './check-subjects.ts';

/** Maximum length of a line: a body of 10 MiB, the default limit, with every byte escaped in JSON. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;

export interface CheckFlags extends CommonFlags {
  /** Path of the config to decide by, instead of the defaults. */
  readonly config?: string;
  readonly resolve?: boolean;
}

/** Settings without a config: the defaults of its keys. */
const DEFAULTS = {
  userAgent: 'ubiring',
  urls: { dropParameters: [], dropTracking: false, dropSessions: false },
  embeds: false,
  allowPrivate: false,
} as const;

/** Answers until stdin ends, and prints on stderr how many lines were not valid questions. */
export async function check(subject: Subject, flags: CheckFlags): Promise<ExitCode> {
  const settings = settingsOf(flags);
  if (typeof settings === 'number') return settings;
  const answerer = answererOf(subject, settings);
  let lines = 0;
  let wrong = 0;
  for await (const line of linesOf(process.stdin, LINE_BYTES_MAX)) {
    lines++;
    const answer = await answerTo(line, answerer);
    if ('error' in answer) wrong++;
    await print(`${JSON.stringify(answer)}\n`);
  }
  if (wrong > 0) say(`${count(wrong)} of ${count(lines)} lines could not be answered`);
  return 0;
}

function settingsOf(flags: CheckFlags): CheckSettings | ExitCode {
  const resolve = flags.resolve ?? false;
  if (flags.config === undefined) return { ...DEFAULTS, resolve };
  const loaded = load(flags.config, flags);
  if (!loaded.ok) return loaded.code;
  const { http, urls, links } = loaded.config;
  const { userAgent, allowPrivateAddresses: allowPrivate } = http;
  return { userAgent, urls, embeds: links.embeds, allowPrivate, resolve };
}

/** @returns the answer, or `{ error }` if the line is not a valid question */
export async function answerTo(line: Line, answerer: Answerer): Promise<object> {
  if (line === null) return { error: `longer than ${LINE_BYTES_MAX} bytes` };
  let question: unknown;
  try {
    question = JSON.parse(line.toString().replace(/^\ufeff/, ''));
  } catch (error) {
    return { error: `not JSON: ${messageOf(error)}` };
  }
  try {
    return await answerer(question);
  } catch (error) {
    if (error instanceof z.ZodError) return { error: problemsOf(error) };
    throw error;
  }
}

function problemsOf({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
}
