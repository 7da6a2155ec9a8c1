// The commands that `launch` and `status` suggest after a crawl.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextSteps } from '../../../../agent/cli/query/next-steps.ts';
import { good, plain } from '../../config/written-config.ts';

test('after a crawl: queries, and the command that shows the dashboard again', () => {
  const text = nextSteps(good(plain));
  assert.match(text, /^to see what was crawled:\n {2}.* query \S+ "SELECT /);
  assert.match(text, /\nto see the dashboard again:\n {2}.* replay \S+$/);
});
