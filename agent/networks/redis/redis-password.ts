// The password of a network's Redis: from the environment, or from a file that the environment
// names. It is nowhere else: not in the config, in arguments or in messages.

import { readText } from '../../../config/file/read-text.ts';
import { passwordVariable } from '../../../config/values/redis-url.ts';

const fileBytesMax = 4096;

/**
 * @returns null if there is no password
 * @throws an Error that names the variable if its file cannot be used
 */
export function redisPassword(
  network: string,
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  const variable = passwordVariable(network);
  const ofFile = `${variable}_FILE`;
  const [password, file] = [environment[variable] ?? '', environment[ofFile] ?? ''];
  if (file === '') return password === '' ? null : password;
  if (password !== '') throw new Error(`set ${variable} or ${ofFile}, not both`);
  const read = readText(file, fileBytesMax);
  if (!read.ok) throw new Error(`${ofFile}: ${file} ${read.message}`);
  const text = read.text.replace(/\r?\n$/, '');
  if (text === '') throw new Error(`${ofFile}: ${file} is empty`);
  return text;
}
