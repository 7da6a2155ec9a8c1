// Tests how slow hosts share threads and visits with quick ones, and what that costs the quick
// hosts. These are the slow tests; the others are in
// `test/unit/frontier/visits/visits-slow.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OneAgent, type Options } from '../../one-agent.ts';

test('long visits: endless hosts take turns when they are more than can be visited at a time', () => {
  const endless: Options['web'] = ({ url }) => ({ status: 200, links: [`${url}x`] });
  const agent = new OneAgent({ web: endless, threads: 4, depthPerHost: 1e6 });
  const hosts = Array.from({ length: 50 }, (_, n) => `h${n}.test`);
  agent.find(...hosts.map((host) => `http://${host}/`));
  agent.run(15 * 60_000);
  const asked = new Set(agent.log.map(({ request }) => request.host));
  assert.equal(asked.size, hosts.length);
  agent.checkPoliteness();
});
