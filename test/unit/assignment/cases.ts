// Reads a file of the independent cases, which lie beside the checkout where they are at hand.

import { existsSync, readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';

/** The parsed file; undefined, with the test marked as skipped, where there is none. */
export function readCases<T>(name: string, t: TestContext): T | undefined {
  const file = new URL(`../../../../shared/cases/${name}`, import.meta.url);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as T;
  t.skip(`no ../shared/cases/${name} beside the checkout`);
  return undefined;
}
