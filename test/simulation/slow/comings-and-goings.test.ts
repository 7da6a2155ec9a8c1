// Hosts that leave an agent and come back to it, at moments that the other cases do not meet: while
// the agent still has something in mind of the time before. Each was once a crawl that ended in a
// crash, or never. (That they come back within their delay is `visits-dropped` in schedules.ts.)
// The slower of these tests; the others are in `test/simulation/comings-and-goings.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../../agent/core/protocol/messages.ts';
import { cluster } from '../case-kit.ts';

describe('comings and goings', () => {
  // Each leaver gives some of its hosts to the other before it hears that the other leaves too.
  for (const apartMs of [0, 3, 20]) {
    it(`of three agents two leave ${apartMs} ms apart: their successor waits for both`, () => {
      for (let round = 0; round < 8; round++) {
        const c = cluster(['a1', 'a2', 'a3'], { delayMs: 1000, seed: round + 1, answerMs: 300 });
        c.startAll();
        c.runUntil('the crawl is on its way', () => c.log.length >= 120 + 7 * round, 100_000);
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
