import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lookupsUnderChurn, networkDefaults } from '../kademlia-network.ts';

test('kademlia network: with 300 agents every look-up finds the nearest, in at most log2 of the identifiers', () => {
  const options = { ...networkDefaults, agents: 300, ids: 4 };
  const still = { replacedPerMinute: 0, minutes: 1, lookupsPerMinute: 1000 };
  const figures = lookupsUnderChurn({ ...options, ...still });
  assert.equal(figures.lookups, 1000);
  assert.equal(figures.nearest, 1000);
  assert.ok(figures.hopsMax <= Math.ceil(Math.log2(options.agents * options.ids)));
});
