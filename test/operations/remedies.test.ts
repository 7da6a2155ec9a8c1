// Plays every remedy that the product names with real processes. The test
// test/integration/remedy-coverage.test.ts checks that the table is complete.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { situations } from './situations.ts';
import { Stage } from './stage.ts';

// One more than the cores of a small machine, since some situations mostly wait.
describe('remedies', { concurrency: 3 }, () => {
  for (const { name, agents = 1, says, play } of situations) {
    test(name, async (context) => {
      const stage = await Stage.make(agents);
      context.after(() => stage.close());
      await play(stage);
      for (const text of says) assert.match(stage.said(), patternOf(text));
    });
  }
});

/** The pattern of the printed text. */
function patternOf(says: string): RegExp {
  const text = says.replace(/^[\w/-]+\.ts: /, '');
  const parts = text.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('[^\\n]*'));
}
