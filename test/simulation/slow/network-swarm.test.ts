// Further seeds of the networks for each kind of fault.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NETWORK_KINDS, runNetworks } from '../networks/network-swarm.ts';

describe('several networks, further seeds', () => {
  for (const kind of NETWORK_KINDS) {
    it(`${kind}: nothing is missing, and only open batches are fetched twice`, async () => {
      for (const seed of [2, 3]) {
        const { violations, requests, duplicates } = await runNetworks(seed, kind);
        assert.deepEqual(violations, [], `seed ${seed}`);
        assert.ok(requests > 0);
        if (kind === 'none') assert.equal(duplicates, 0);
      }
    });
  }

  it('a run with the same seed is the same run', async () => {
    assert.deepEqual(await runNetworks(7, 'mixed'), await runNetworks(7, 'mixed'));
  });
});
