// Where the tokens of the HTTP server come from: the file that `monitor.tokens` names, and the
// environment.

import { readFileSync } from 'node:fs';
import { messageOf } from '../common/exit-code.ts';
import { Tokens } from './tokens.ts';

export const TOKENS_VARIABLE = 'MONITOR_TOKENS';

export type FoundTokens =
  /** Lines with roles and tokens, which have been checked. */
  | { readonly text: string; readonly count: number }
  /** What is wrong, with the remedy, and without the tokens. */
  | { readonly wrong: string };

/** @param file - `monitor.tokens` */
export function tokensOf(file: string | null, env: NodeJS.ProcessEnv): FoundTokens {
  const texts: string[] = [];
  if (file !== null) {
    try {
      texts.push(readFileSync(file, 'utf8'));
    } catch (error) {
      return { wrong: `monitor.tokens: ${messageOf(error)}; write "ROLE TOKEN" lines into it` };
    }
  }
  // Several tokens in one variable: a line break is hard to write in some service files.
  texts.push((env[TOKENS_VARIABLE] ?? '').replaceAll(/[,;]/g, '\n'));
  const text = texts.join('\n');
  for (const [i, part] of texts.entries()) {
    const parsed = Tokens.parse(part);
    if (typeof parsed !== 'string') continue;
    const where = file !== null && i === 0 ? file : TOKENS_VARIABLE;
    return { wrong: `${where}: ${parsed}` };
  }
  const all = Tokens.parse(text);
  return typeof all === 'string' ? { wrong: all } : { text, count: all.size };
}
