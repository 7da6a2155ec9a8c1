import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostRecord } from '../../../../agent/frontier/frontier-store.ts';
import { holdHost } from '../../../../agent/frontier/outcome/outcome-handling.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { OneAgent } from '../one-agent.ts';

test('outcomes: a wait stored by a clock that was days ahead does not become longer by a failure', () => {
  const hour = 3_600_000;
  for (const [storedMs, expectedMs] of [
    [48 * hour, 1000],
    [hour, hour],
  ] as const) {
    const record = { host: 'a.test', notBefore: storedMs } as HostRecord;
    const told: number[] = [];
    holdHost({ right: { waitUntil: (_, untilMs) => told.push(untilMs) } }, record, 0, 1000);
    assert.deepEqual([record.notBefore, told], [expectedMs, [expectedMs]]);
  }
});

test('outcomes: a chain of redirects keeps the depth for 20 of them, and then ends at the greatest depth', () => {
  const db = openInMemory();
  const agentOf = () =>
    new OneAgent({
      db,
      depthPerHost: 3,
      web: ({ url }) => {
        if (url === 'http://a.test/') {
          return { status: 200, links: ['http://a.test/login?n=0', 'http://a.test/b'] };
        }
        if (!url.includes('login')) return { status: 200 };
        return {
          status: 302,
          redirectTo: `http://a.test/login?n=${Number(url.split('=')[1]) + 1}`,
        };
      },
    });
  const first = agentOf();
  first.find('http://a.test/');
  // The count must not be lost with the process.
  first.run(10_000);
  const second = agentOf();
  second.run();
  const asked = [...first.log, ...second.log].map(({ request }) => request);
  const chain = asked.filter(({ url }) => url.includes('login'));
  assert.deepEqual(
    chain.map(({ depth }) => depth),
    [...Array(21).fill(1), 2, 3],
  );
  assert.equal(asked.length, chain.length + 2);
  second.checkAccounts();
});
