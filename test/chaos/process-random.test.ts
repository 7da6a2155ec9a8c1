// Random kills and restarts in a small cluster for a short time: what random.ts does by hand with
// more of both. Its seed is in the failure, and replays the choice of faults.

import { fault } from './harness.ts';
import { assertSurvived, randomFaults } from './random.ts';

fault(
  'F61: kills and restarts each second, at random: complete, nothing missing',
  async (t, seed) => {
    assertSurvived(await randomFaults(t, { agents: 8, seconds: 20, seed }));
  },
);
