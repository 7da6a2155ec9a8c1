// The slower of the tests in `test/unit/cli/check/check-answers.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../check-answers-stage.ts';

test('check: accepts bodies of many megabytes', async () => {
  const html_b64 = Buffer.alloc(12 * 1024 * 1024, '<p>').toString('base64');
  const answer = await ask('links', { html_b64, base: 'http://h/' });
  assert.deepEqual(Object.keys(answer).length, 6);
});
