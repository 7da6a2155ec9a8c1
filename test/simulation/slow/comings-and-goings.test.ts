// The slower tests of hosts that leave an agent and return to it while the agent still has state
// from before. The others are in `test/simulation/comings-and-goings.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../../agent/core/protocol/messages.ts';
import { cluster } from '../case-kit.ts';

describe('hosts that leave and return', () => {
  // Each leaving agent gives hosts to the other before it learns that the other leaves as well.
  for (const apartMs of [0, 3, 20]) {
    it(`if two of three agents leave ${apartMs} ms apart, their successor waits for both`, () => {
      for (let round = 0; round < 8; round++) {
        const c = cluster(['a1', 'a2', 'a3'], { delayMs: 1000, seed: round + 1, answerMs: 300 });
        c.startAll();
        c.runUntil('the crawl is running', () => c.log.length >= 120 + 7 * round, 100_000);
        const leave = (id: AgentId) => c.agents.get(id)!.core.leave(c.instant(id));
        leave('a1');
        c.run(apartMs);
        leave('a3');
        c.runUntil('both have left', () => c.living().length === 1, 60_000);
        c.run(3000);
        assert.deepEqual(c.impolite(), [], `round ${round}`);
      }
    });
  }
});
