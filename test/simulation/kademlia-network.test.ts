import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grown, lookupsUnderChurn, networkDefaults } from './kademlia-network.ts';

const agents = 40;
/** Small buckets, so that look-ups in a small network need several hops. */
const options = { ...networkDefaults, agents, ids: 4, bucketSize: 8 };

test('kademlia network: every look-up finds the nearest agent, in at most log2 of the identifiers', () => {
  const figures = lookupsUnderChurn({
    ...options,
    replacedPerMinute: 0,
    minutes: 1,
    lookupsPerMinute: 200,
  });
  assert.equal(figures.lookups, 200);
  assert.equal(figures.nearest, 200);
  assert.ok(figures.hopsMax > 1, 'the buckets are too large for the test');
  assert.ok(figures.hopsMax <= Math.ceil(Math.log2(agents * options.ids)));
});

test('kademlia network: look-ups find the nearest agent while a tenth of the agents is replaced each minute', () => {
  const figures = lookupsUnderChurn({
    ...options,
    replacedPerMinute: 0.1,
    minutes: 2,
    lookupsPerMinute: 100,
  });
  assert.equal(figures.lookups, 200);
  assert.equal(figures.nearest, 200);
});

test('kademlia network: one seed gives one course', () => {
  const run = () => grown({ ...options, agents: 15 }).messages;
  assert.equal(run(), run());
});
