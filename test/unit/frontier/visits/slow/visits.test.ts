// The slow tests of visits; the others are in `test/unit/frontier/visits/visits.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentWith, page } from '../visits-stage.ts';

test('visits: every one of thousands of hosts is visited, including those that wait in the store', () => {
  const hosts = Array.from({ length: 6000 }, (_, n) => `h${n}.test`);
  const agent = agentWith({ threads: 16 });
  agent.find(...hosts.map((host) => page(1, host)));
  agent.run();
  assert.equal(agent.asked().length, hosts.length);
  assert.deepEqual(
    agent.asked(),
    hosts.map((host) => page(1, host)),
  );
  agent.checkAccounts();
});
