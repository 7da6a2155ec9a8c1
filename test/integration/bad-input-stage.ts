// The set-up shared by `bad-input.test.ts` and `slow/bad-input.test.ts`.

import type { TestContext } from 'node:test';
import { Scratch } from './cli-process.ts';

export function scratchOf(t: TestContext): Scratch {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  return scratch;
}
