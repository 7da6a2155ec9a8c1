// `ubiring check`: asks the crawler's own code what it would decide, without crawling. JSON objects
// come in on stdin, one a line, and one JSON line goes out for each, in the same order. A line that
// is no such question is answered by `{"error": …}` in its place, and the rest goes on.

import { z } from 'zod';
import { type ExitCode, messageOf } from '../common/exit-code.ts';
import { type CommonFlags, load } from '../common/load-config.ts';
import { count, print, say } from '../common/output.ts';
import { type Answerer, answererOf, type CheckSettings } from './check-answers.ts';
import { type Line, linesOf } from './check-lines.ts';
import type { Subject } from './check-subjects.ts';

/** A body of 10 MiB, as pages have by default, where JSON escapes every byte of it. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;

/** Flags of `ubiring check`. */
export interface CheckFlags extends CommonFlags {
  /** Decide as with this config; else by the defaults. */
  readonly config?: string;
  /** Look names up. */
  readonly resolve?: boolean;
}

/** What holds without a config; as the defaults of its keys. */
const DEFAULTS = {
  userAgent: 'ubiring',
  urls: { dropParameters: [], dropTracking: false, dropSessions: false },
  embeds: false,
  allowPrivate: false,
} as const;

/** Answers until stdin ends. Lines that were no questions are counted on stderr. */
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

/** @returns the answer, or what is wrong with the question; never throws for a question */
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
