// The token with which a client continues a list: the place of the last row, which consists of the
// value by which the list is sorted and a name that only that row has. It also names the list, so
// that a token of another one is refused rather than continued somewhere.

import { HttpProblem } from '../http/http-problem.ts';

/** The value by which the list is sorted, and the name, which decides between equal ones. */
export type Place = readonly [sorted: number | string, name: string];

/**
 * Its length does not depend on the characters of the name, as that of JSON does.
 *
 * @param list - says which list it is, with its order
 */
export function tokenOf(list: string, [sorted, name]: Place): string {
  const parts = [list, sorted, Buffer.from(name).toString('base64url')];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** @throws HttpProblem if the token is not of this list */
export function placeIn(list: string, token: string): Place {
  const remedy =
    'send "next" of the previous answer of the same list, or no "after" to begin again';
  const refused = (detail: string) => new HttpProblem(400, 'cursor-invalid', detail, remedy);
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    // As if it were another value.
  }
  if (!Array.isArray(parts)) throw refused('the value of "after" is no "next" of an answer');
  const [of, sorted, name] = parts as readonly unknown[];
  const isValue = typeof sorted === 'string' || typeof sorted === 'number';
  if (typeof of !== 'string' || !isValue || typeof name !== 'string') {
    throw refused('the value of "after" is no "next" of an answer');
  }
  if (of !== list) throw refused(`the value of "after" continues ${of}, not ${list}`);
  return [sorted, Buffer.from(name, 'base64url').toString()];
}
