// What the tests in `bad-input.test.ts` and in `slow/bad-input.test.ts` are run on.

import type { TestContext } from 'node:test';
import { Scratch } from './cli-process.ts';

export function scratchOf(t: TestContext): Scratch {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  return scratch;
}
