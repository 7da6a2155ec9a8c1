// The slower of the tests in `test/unit/frontier/visits/visits.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentWith, page } from '../visits-stage.ts';

test('visits: of thousands of hosts each is asked, also those that wait in the store', () => {
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
