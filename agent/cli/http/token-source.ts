// Reads the tokens of the HTTP server from the file that `monitor.tokens` names, and from the
// environment.

import { readFileSync } from 'node:fs';
import type { Config } from '../../../config/config.ts';
import { isLoopback, parseListenAddress } from '../../../config/values/listen-address.ts';
import { messageOf, systemCode } from '../common/exit-code.ts';
import { Tokens } from './tokens.ts';

export const TOKENS_VARIABLE = 'MONITOR_TOKENS';

/** Two agents read each other's states if they know the same token, whatever its role. */
export const SHARED_TOKEN_REMEDY =
  'let monitor.tokens or MONITOR_TOKENS have the same line "read TOKEN" on both machines, and start ' +
  'their agents again';

export type FoundTokens =
  /** Lines with roles and tokens, which have been checked. */
  | { readonly text: string; readonly count: number }
  /** What is wrong, with the remedy, and without the tokens. */
  | { readonly wrong: string };

/** The tokens of a server at this address, which needs some if other machines can reach it. */
export function serverTokens(
  host: string,
  file: string | null,
  env: NodeJS.ProcessEnv,
): FoundTokens {
  const found = tokensOf(file, env);
  if ('wrong' in found || found.count > 0) return found;
  if (file !== null) {
    const remedy = 'write "ROLE TOKEN" lines into it, or remove monitor.tokens';
    return { wrong: `monitor.tokens: ${file} has no token; ${remedy}` };
  }
  if (isLoopback(host)) return found;
  const wrong =
    `monitor.listen ${host} can be reached from other machines, and there is no token; ` +
    `name a file with tokens in monitor.tokens, or set ${TOKENS_VARIABLE}="admin TOKEN"`;
  return { wrong };
}

/** What is wrong with the tokens of the servers of agents; null: nothing, or they serve nothing. */
export function wrongTokens(
  { listen, tokens }: Config['monitor'],
  env: NodeJS.ProcessEnv,
): string | null {
  const address = listen === null ? null : parseListenAddress(listen);
  if (address === null) return null;
  const found = serverTokens(address.host, tokens, env);
  return 'wrong' in found ? found.wrong : null;
}

/** @param file - `monitor.tokens` */
export function tokensOf(file: string | null, env: NodeJS.ProcessEnv): FoundTokens {
  const texts: string[] = [];
  if (file !== null) {
    try {
      texts.push(readFileSync(file, 'utf8'));
    } catch (error) {
      const remedy =
        systemCode(error) === 'ENOENT'
          ? 'write "ROLE TOKEN" lines into it'
          : 'name a file with "ROLE TOKEN" lines that this user may read';
      return { wrong: `monitor.tokens: ${messageOf(error)}; ${remedy}` };
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
