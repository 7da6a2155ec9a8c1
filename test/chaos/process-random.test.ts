// Random faults in a small cluster for a short time: what random.ts does by hand with more of both.
// The seed is in the failure, and replays the choice of faults.

import { fault } from './harness.ts';
import { assertStormSurvived, storm } from './storm.ts';
import { without } from './storm-ground.ts';
import { assertKillsSurvived, killStorm } from './storm-kills.ts';

fault(
  'F61: kills and restarts each second, at random: complete, nothing missing',
  async (t, seed) => {
    assertKillsSurvived(await killStorm(t, { agents: 8, seconds: 20, seed }));
  },
);

fault('F61: faults of every kind, at random: complete, nothing missing', async (t, seed) => {
  if (without() !== '') t.diagnostic(`not of every kind here:${without()}`);
  assertStormSurvived(await storm(t, { agents: 4, seconds: 20, seed }));
});
