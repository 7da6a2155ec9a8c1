// Random faults in a small cluster for a short time. random.ts runs larger ones manually. A failure
// prints the seed, which replays the faults.

import { fault } from './harness.ts';
import { assertStormSurvived, storm } from './storm.ts';
import { without } from './storm-ground.ts';
import { assertKillsSurvived, killStorm } from './storm-kills.ts';

fault(
  'random kills and restarts each second: the crawl completes, no page is missing',
  async (t, seed) => {
    assertKillsSurvived(await killStorm(t, { agents: 8, seconds: 20, seed }));
  },
);

fault('random faults of every kind: the crawl completes, no page is missing', async (t, seed) => {
  if (without() !== '') t.diagnostic(`missing kinds of faults:${without()}`);
  assertStormSurvived(await storm(t, { agents: 4, seconds: 20, seed }));
});
