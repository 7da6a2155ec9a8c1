// Every remedy that the product names is run to the end, by real processes. That the table has all of
// them is checked by test/integration/remedy-coverage.test.ts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { situations } from './situations.ts';
import { Stage } from './stage.ts';

// One more than a small machine has cores: some situations wait for most of their time.
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

/** What the text looks like where it is said. */
function patternOf(says: string): RegExp {
  const text = says.replace(/^[\w/-]+\.ts: /, '');
  const parts = text.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('[^\\n]*'));
}
