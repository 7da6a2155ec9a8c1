// One seed of the networks for each kind of fault. run-networks.ts runs thousands.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LATE_COMMANDS } from './networks/late-commands.ts';
import { NETWORK_KINDS, runNetworks } from './networks/network-swarm.ts';

describe('several networks', () => {
  for (const kind of NETWORK_KINDS) {
    it(`${kind}: nothing is missing, and only open batches are fetched twice`, async () => {
      const { violations, requests, duplicates } = await runNetworks(1, kind);
      assert.deepEqual(violations, []);
      assert.ok(requests > 0);
      if (kind === 'none') assert.equal(duplicates, 0);
    });
  }

  for (const [rule, run] of Object.entries(LATE_COMMANDS)) {
    it(`a late command does no harm (${rule})`, async () => assert.equal(await run(), null));
  }
});
