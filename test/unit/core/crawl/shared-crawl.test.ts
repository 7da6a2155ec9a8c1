import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Networks, RedisFailure } from '../../../../agent/core/crawl/networks-port.ts';
import { SharedCrawl } from '../../../../agent/core/crawl/shared-crawl.ts';

const message = 'network paris: Redis at 127.0.0.1:6380: ECONNREFUSED';

test('networks: a Redis that fails is recorded once, and once when it no longer does', () => {
  let failures: RedisFailure[] = [];
  const recorded: unknown[] = [];
  const crawl = new SharedCrawl({
    networks: {
      ...{ network: 'berlin', isQuiet: true, begin() {}, pump() {} },
      failures: () => failures,
    } as Partial<Networks> as Networks,
    view: { joined: true, owns: () => false },
    events: { record: (...event) => recorded.push(event) },
    store: { hasUrlFor: () => false },
    isCrawling: () => true,
    visits: { wake() {}, isOpen: () => false, waitsForNetworks: () => false },
  });
  const pump = (mono: number, ...now: RedisFailure[]) => {
    failures = now;
    crawl.pump({ mono, wall: mono });
  };
  const failure = { network: 'paris', message };
  pump(1);
  assert.deepEqual(recorded, []);
  for (const mono of [100, 200]) pump(mono, { ...failure, forMs: mono - 100, quietMs: 0 });
  pump(5000, { ...failure, forMs: 4900, quietMs: 4800 });
  assert.deepEqual(recorded.splice(0), [[100, 'network', { network: 'paris', why: message }]]);
  for (const mono of [7000, 7001]) pump(mono);
  assert.deepEqual(recorded.splice(0), [[7000, 'network', { network: 'paris', tookMs: 100 }]]);
  pump(9000, { ...failure, forMs: 0, quietMs: 0 });
  assert.equal(recorded.length, 1);
});
