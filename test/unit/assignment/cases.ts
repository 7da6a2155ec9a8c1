// Reads a file of the independently computed cases, which are optional and lie beside the checkout.

import { existsSync, readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';

/** Returns the parsed file, or marks the test as skipped and returns undefined if there is none. */
export function readCases<T>(name: string, t: TestContext): T | undefined {
  const file = new URL(`../../../../shared/cases/${name}`, import.meta.url);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as T;
  t.skip(`no ../shared/cases/${name} beside the checkout`);
  return undefined;
}
