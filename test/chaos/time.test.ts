// Faults of time: wall clocks that jump, oscillate and differ, and waits that no timer can hold.

import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, fault, gated, runs } from './harness.ts';
import { startSite } from './harness-site.ts';
import { assertWhole } from './harness-verdict.ts';
import { obstacleTo } from './needs.ts';
import { WallClock } from './time-clocks.ts';

const skip = obstacleTo('faketime') ?? false;

async function shiftable(t: TestContext, seed: number) {
  const web = { seed, pages: 20 };
  const { gate, cluster } = await gated(t, { agents: 3, web, delayMs: 100 });
  const clock = new WallClock(path.join(path.dirname(cluster.config), 'clock'));
  return { gate, cluster, clock, env: clock.env() };
}

describe('faults of time', { concurrency: 2, skip }, () => {
  const hour = 3600;
  for (const [name, seconds] of [
    ['an hour forwards', hour],
    ['an hour back', -hour],
    ['ten years forwards', 87_660 * hour],
  ] as const) {
    fault(`the wall clock of an agent jumps ${name}`, async (t, seed) => {
      const { gate, cluster, clock, env } = await shiftable(t, seed);
      await Promise.all([cluster.startAll(['a1', 'a3']), cluster.start('a2', { env })]);
      await Promise.all(cluster.ids.map((id) => cluster.joined(id)));
      await cluster.reaches(0.3);
      clock.moveTo(seconds);
      // An agent sees a jump forwards as a stall: it gives up its hosts and joins again.
      if (seconds > 0) await cluster.event('a2', 'rejoin', 'a2');
      await cluster.served(20);
      const sampled = () => cluster.state('a2').sampledAt();
      const { length } = sampled();
      await cluster.until('a2 takes a sample', () => sampled().length > length);
      const apart = Math.abs(sampled().at(-1)! - Date.now());
      assert.ok(apart < 600_000, 'samples have the times of pages and events, which do not jump');
      gate.open();
      assertWhole(await cluster.finish(), { overlapMax: 2 * cluster.threads });
      if (seconds < 0) assert.deepEqual(cluster.state('a1').events('suspect'), []);
    });
  }

  fault('the wall clock of an agent oscillates by 200 ms, ten times a second', async (t, seed) => {
    const { gate, cluster, clock, env } = await shiftable(t, seed);
    await Promise.all([cluster.startAll(['a1', 'a3']), cluster.start('a2', { env })]);
    await Promise.all(cluster.ids.map((id) => cluster.joined(id)));
    for (let k = 0; k < (runs > 1 ? 1200 : 50); k++) {
      clock.moveTo(k % 2 === 0 ? 0.2 : -0.2);
      await pause(100);
    }
    const changes = cluster.ids.flatMap((id) => cluster.state(id).events('suspect'));
    assert.deepEqual(changes, []);
    gate.open();
    assertWhole(await cluster.finish());
  });

  fault('the clocks of three agents differ by a day each', async (t, seed) => {
    const { gate, cluster } = await shiftable(t, seed);
    for (const [k, id] of cluster.ids.entries()) {
      const clock = new WallClock(path.join(path.dirname(cluster.config), `clock-${id}`));
      clock.moveTo((k - 1) * 24 * hour);
      await cluster.start(id, { env: clock.env() });
    }
    await cluster.reaches(0.3);
    await cluster.restart('a1');
    await cluster.joined('a1');
    gate.open();
    assertWhole(await cluster.finish(), { overlapMax: 2 * cluster.threads });
  });
});

describe('waits beyond the range of timers', () => {
  fault('a Retry-After and a Crawl-delay of a hundred years cause no burst', async (t, seed) => {
    const years = String(100 * 365 * 86_400);
    const site = await startSite((host, target) => {
      if (target === '/robots.txt') {
        return { body: host === 1 ? `User-agent: *\nCrawl-delay: ${years}\n` : '' };
      }
      return host === 0 ? { status: 503, headers: { 'retry-after': years } } : { body: 'page' };
    });
    t.after(() => site.stop());
    const seeds = [`${site.origin(0)}/`, `${site.origin(1)}/`];
    const cluster = await Cluster.make(t, { agents: 2, seeds, web: { seed, hosts: 4 } });
    await cluster.startAll();
    await cluster.reaches(1);
    await cluster.until('both hosts are requested', () => {
      return site.requests(0, '/').length > 0 && site.requests(1, '/robots.txt').length > 0;
    });
    // A timer that overflows fires at once, so a burst would come within moments.
    await pause(1000);
    assert.equal(site.requests(0, '/').length, 1);
    assert.equal(site.requests(1, '/robots.txt').length, 1);
    assert.deepEqual(site.requests(1, '/'), [], 'the delay begins with robots.txt itself');
    assert.equal(cluster.living().length, 2, 'the crawl is not complete while a retry is due');
  });
});
