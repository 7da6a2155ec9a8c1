// The keys that sign the requests of a command to agents on other machines. The command of a server
// gets the keys of that server, which may have read its tokens before their file was changed: so all
// that the server shows comes from the same agents.

import { tokensOf } from '../http/token-source.ts';
import { Tokens } from '../http/tokens.ts';

/** Keys instead of tokens: they permit only reading, and no sign in a token can separate them. */
export const REMOTE_KEYS_VARIABLE = 'UBIRING_REMOTE_KEYS';

/** The value of the variable. */
export function keysText(keys: readonly Buffer[]): string {
  return keys.map((key) => key.toString('hex')).join(',');
}

/**
 * @param file - `monitor.tokens`
 * @returns what is wrong with the tokens, if anything is
 */
export function remoteKeys(
  file: string | null,
  env: NodeJS.ProcessEnv,
): readonly Buffer[] | string {
  const given = env[REMOTE_KEYS_VARIABLE];
  if (given !== undefined) {
    return given.split(',').flatMap((key) => (key === '' ? [] : [Buffer.from(key, 'hex')]));
  }
  const found = tokensOf(file, env);
  if ('wrong' in found) return found.wrong;
  const tokens = Tokens.parse(found.text);
  return typeof tokens === 'string' ? tokens : tokens.keys;
}
