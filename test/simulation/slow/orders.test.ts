// The slower tests of directives of the operator in a running cluster, on real cores. The others
// are in `test/simulation/orders.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cluster, crawling, endCodes } from '../case-kit.ts';
import { type Cluster, SUSPECT_MS } from '../cluster.ts';
import {
  asked,
  block,
  busyHost,
  everyoneKnows,
  give,
  hasOrders,
  PAUSE,
  RESUME,
  skipped,
} from '../orders-stage.ts';

function skippedBy(c: Cluster, id: string): number {
  const sql = "SELECT count(*) FROM skipped WHERE reason = 'blocked'";
  return c.disks.get(id)!.db.prepare<[], number>(sql).pluck().get()!;
}

describe('directives in a cluster', () => {
  it('orders: a pause outlives the processes that received it', () => {
    const c = crawling(['a1', 'a2']);
    give(c, 'a1', PAUSE);
    everyoneKnows(c, (id) => c.snapshot(id).paused);
    for (const id of ['a1', 'a2']) c.kill(id);
    const since = c.now;
    c.startAll();
    c.run(5 * SUSPECT_MS);
    assert.equal(c.log.filter(({ start }) => start > since).length, 0);
    give(c, 'a2', RESUME);
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
  });

  it('orders: lifting a block requeues the URLs that it had skipped', () => {
    for (const pattern of ['h1.test', '*.test', '*']) {
      const c = crawling(['a1', 'a2', 'a3']);
      give(c, 'a3', block(pattern));
      everyoneKnows(c, (id) => hasOrders(c, id, 1));
      c.run(100);
      const before = c.living().reduce((sum, { id }) => sum + skippedBy(c, id), 0);
      assert.ok(before > 0, pattern);
      give(c, 'a1', { ...block(pattern), value: null });
      c.runToEnd();
      assert.deepEqual(endCodes(c), [0, 0, 0]);
      assert.equal(c.fetched().size, 1200, pattern);
      assert.deepEqual(c.impolite(), []);
    }
  });

  it('orders: lifting a block requeues skipped URLs although their owner dies meanwhile', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const host = busyHost(c);
    const [owner, next] = c.order(host, ['a1', 'a2', 'a3']);
    give(c, next!, block(host));
    c.runUntil('a URL is skipped', () => skipped(c, host) > 0);
    c.run(2 * SUSPECT_MS);
    c.kill(owner!);
    give(c, next!, { ...block(host), value: null });
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
  });

  it('orders: each agent lists the directives in force and the agents that have them', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.kill('a3');
    give(c, 'a1', { kind: 'delay', host: '*.test', value: 21 });
    const listed = () => c.agents.get('a1')!.core.operator.inForce[0];
    c.runUntil('a2 has it', () => listed()?.applied.includes('a2') === true);
    assert.deepEqual(listed(), {
      ...{ kind: 'delay', host: '*.test', value: 21, by: 'a1' },
      applied: ['a1', 'a2'],
    });
    c.start('a3');
    c.runUntil('a3 has it', () => listed()?.applied.length === 3);
    give(c, 'a2', { kind: 'delay', host: '*.test', value: null });
    c.runUntil('it is no longer listed', () => listed() === undefined);
    c.runToEnd();
  });

  it('orders: a late joiner that takes over a blocked host sends it no requests', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a1');
    c.start('a2');
    c.runUntil('two agents crawl', () => c.log.length >= 200);
    const hosts = [...new Set(c.log.map((visit) => visit.host))];
    const theirs = hosts.filter((host) => c.order(host, ['a1', 'a2', 'a3'])[0] === 'a3');
    assert.ok(theirs.length > 0);
    for (const host of theirs) give(c, 'a1', block(host));
    c.run(SUSPECT_MS);
    const since = c.now;
    c.start('a3');
    c.runToEnd();
    for (const host of theirs) assert.equal(asked(c, host, since), 0, host);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
  });

  it('orders: after a partition heals, both sides know all directives that either received', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    for (const other of ['a1', 'a2']) {
      c.network.cut(other, 'a3');
      c.network.cut('a3', other);
    }
    c.run(2 * SUSPECT_MS);
    give(c, 'a1', block('left.test'));
    give(c, 'a3', PAUSE);
    c.run(SUSPECT_MS);
    c.network.heal();
    everyoneKnows(c, (id) => c.snapshot(id).paused);
    everyoneKnows(c, (id) => {
      const rows = c.disks.get(id)!.db.prepare('SELECT host FROM order_rows').pluck().all();
      return rows.includes('left.test') && rows.length === 2;
    });
    give(c, 'a1', RESUME);
    c.runToEnd();
  });

  it('orders: a longer delay holds for the next request, and after a takeover', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const host = busyHost(c);
    const delayMs = 3 * SUSPECT_MS;
    const [owner, next] = c.order(host, ['a1', 'a2', 'a3']);
    give(c, owner!, { kind: 'delay', host, value: delayMs });
    everyoneKnows(c, (id) => {
      const sql = 'SELECT count(*) FROM order_rows';
      return c.disks.get(id)!.db.prepare<[], number>(sql).pluck().get() === 1;
    });
    const since = c.now;
    c.run(2 * delayMs);
    c.kill(owner!);
    c.runUntil('its successor requested the host', () => {
      return c.log.some((visit) => visit.host === host && visit.by === next && visit.start > since);
    });
    c.run(2 * delayMs);
    const visits = c.log.filter((visit) => visit.host === host && visit.end > since);
    assert.ok(visits.length >= 3);
    for (const [k, visit] of visits.entries()) {
      const gap = k === 0 ? delayMs : visit.start - visits[k - 1]!.end;
      assert.ok(gap >= delayMs, `${gap} ms before request ${k}`);
    }
  });
});
