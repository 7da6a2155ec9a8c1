// Slow hosts beside calm ones: who holds a thread, for how long, and what that costs the others.
// The slower of these tests; the others are in `test/unit/frontier/visits/visits-slow.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OneAgent, type Options } from '../../one-agent.ts';

test('long visits: more hosts than are visited at a time, each without an end, take turns', () => {
  const endless: Options['web'] = ({ url }) => ({ status: 200, links: [`${url}x`] });
  const agent = new OneAgent({ web: endless, threads: 4, depthPerHost: 1e6 });
  const hosts = Array.from({ length: 50 }, (_, n) => `h${n}.test`);
  agent.find(...hosts.map((host) => `http://${host}/`));
  agent.run(15 * 60_000);
  const asked = new Set(agent.log.map(({ request }) => request.host));
  assert.equal(asked.size, hosts.length);
  agent.checkPoliteness();
});
