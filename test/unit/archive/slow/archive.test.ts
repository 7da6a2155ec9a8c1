// The slow tests of `archive.ts`; the others are in `test/unit/archive/archive.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capture, opened } from '../archive-stage.ts';

test('archive: fails without blocking callers when the thread exits without a message', async (t) => {
  const { archive, failures } = opened(t, new URL('../silent-thread.ts', import.meta.url));
  assert.equal(await archive.append(capture, [Buffer.from('x')]), null);
  assert.match(failures.join(), /exited with code 0/);
  assert.equal(await archive.append(capture, [Buffer.from('y')]), null);
  await archive.close();
  assert.equal(failures.length, 1);
});
