// Directives of the operator in a running cluster, on real cores. During a pause no agent sends
// requests and the crawl does not end. No agent sends requests to a blocked host, late joiners
// included. A delay holds from the next request on, whichever agent owns the host. Late seeds are
// fetched.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SeedReceipt } from '../../../agent/core/operator/operator.ts';
import type { UrlItem } from '../../../agent/core/protocol/messages.ts';
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

function seed(c: Cluster, id: string, items: UrlItem[]): SeedReceipt[] {
  const { core } = c.agents.get(id)!;
  const told: SeedReceipt[] = [];
  core.operator.seed(items, c.instant(id), (receipt) => told.push(receipt));
  return told;
}

/** URLs that are still queued although the crawl is over. */
function unsettledOrQueued(c: Cluster): unknown[] {
  return c
    .living()
    .flatMap(({ id }) => c.disks.get(id)!.db.prepare('SELECT url FROM frontier').all());
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

  it('orders: during a pause the cluster sends no requests and the crawl does not end', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    assert.equal(give(c, 'a2', PAUSE)[0]?.ok, true);
    everyoneKnows(c, (id) => c.snapshot(id).paused);
    const since = c.now;
    c.run(10 * SUSPECT_MS);
    assert.equal(c.log.filter(({ start }) => start > since).length, 0);
    assert.equal(c.living().length, 3);
    give(c, 'a1', RESUME);
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(c.impolite(), []);
  });

  it('orders: nothing is stored if a directive is taken back that is not in force', () => {
    const c = crawling(['a1', 'a2']);
    const nothing = 'no such directive is in force; there is nothing to end';
    for (const what of [RESUME, { ...block('x.test'), value: null }]) {
      const why = what === RESUME ? 'the crawl is not paused; there is nothing to end' : nothing;
      assert.deepEqual(give(c, 'a1', what), [{ ok: false, why }]);
    }
    assert.ok(hasOrders(c, 'a1', 0));
    give(c, 'a1', PAUSE);
    assert.equal(give(c, 'a1', RESUME)[0]?.ok, true);
    assert.equal(give(c, 'a1', RESUME)[0]?.ok, false);
  });

  it('orders: one for an agent that the config does not list any more is taken back', () => {
    const c = crawling(['a1', 'a2']);
    const { core } = c.agents.get('a1')!;
    const threads = { kind: 'threads', host: 'a9' } as const;
    core.operator.take({ ...threads, value: 5, n: 1, by: 'a9' }, c.instant('a1'), () => {});
    assert.equal(give(c, 'a1', { ...threads, value: null })[0]?.ok, true);
    const why = 'no agent has the identifier a9; "status" shows the agents';
    assert.deepEqual(give(c, 'a1', { ...threads, value: null }), [{ ok: false, why }]);
  });

  it('orders: a paused crawl that has no more work does not end', () => {
    const c = cluster(['a1', 'a2'], {}, 1, 1);
    c.start('a1');
    c.start('a2');
    give(c, 'a1', PAUSE);
    c.run(20 * SUSPECT_MS);
    assert.equal(c.living().length, 2);
    give(c, 'a2', RESUME);
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0]);
  });

  it('orders: a blocked host gets no further requests, and its queued URLs are skipped', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const host = busyHost(c);
    give(c, 'a1', block(host));
    c.run(SUSPECT_MS);
    const since = c.now;
    c.runToEnd();
    assert.equal(asked(c, host, since), 0);
    assert.ok(skipped(c, host) > 0);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
  });

  it('orders: a pattern blocks all hosts that match it, including hosts found later', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const known = new Set(c.log.map((visit) => visit.host));
    const told = give(c, 'a2', block('*.test'));
    assert.ok(told[0]?.ok && told[0].hosts > 0);
    c.run(SUSPECT_MS);
    const since = c.now;
    c.runToEnd();
    assert.deepEqual(
      c.log.filter(({ start }) => start > since),
      [],
    );
    assert.ok(known.size < 40, 'some hosts are found after the block');
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.deepEqual(unsettledOrQueued(c), []);
  });

  it('orders: a crawl does not end while a member lacks a directive that may requeue URLs', () => {
    const c = cluster(['a1', 'a2'], {}, 4, 6);
    const all = block('*');
    c.startAll();
    c.runUntil('the crawl is running', () => c.log.length >= 4);
    give(c, 'a1', PAUSE);
    give(c, 'a1', all);
    everyoneKnows(c, (id) => hasOrders(c, id, 2));
    c.lose = (from, _, { type }) => from === 'a1' && type === 'ORDERS';
    give(c, 'a2', RESUME);
    give(c, 'a1', { ...all, value: null });
    c.run(5 * SUSPECT_MS);
    assert.equal(c.living().length, 2);
    c.lose = () => false;
    c.runToEnd();
    assert.equal(c.fetched().size, 24);
  });

  it('orders: the owner of the host obeys a block at once and starts no further request', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const host = busyHost(c);
    const [owner] = c.order(host, ['a1', 'a2', 'a3']);
    const since = c.now;
    give(c, owner!, block(host));
    c.runToEnd();
    assert.equal(asked(c, host, since), 0);
  });
});

describe('seeds at run time', () => {
  it('orders: the owner fetches a seed that any agent received, and the receipt names it', () => {
    const ids = ['a1', 'a2', 'a3'];
    const c = crawling(ids);
    const url = 'http://late.test/';
    const owner = c.order('late.test', ids)[0]!;
    const other = ids.find((id) => id !== owner)!;
    const told = seed(c, other, [{ url, depth: 0 }]);
    c.runUntil('the receipt has arrived', () => told.length > 0);
    assert.deepEqual(told, [{ ok: true, owners: { [url]: owner } }]);
    const known = 'SELECT count(*) FROM frontier WHERE url = ?';
    const pages = 'SELECT count(*) FROM pages WHERE url = ?';
    const { db } = c.disks.get(owner)!;
    const count = (sql: string) => db.prepare<[string], number>(sql).pluck().get(url)!;
    assert.equal(count(known) + count(pages), 1);
    c.runToEnd();
    assert.equal(c.log.filter((visit) => visit.url === url).length, 1);
  });

  it('orders: if the owner is unreachable, the receipt for a seed names no owner', () => {
    const ids = ['a1', 'a2', 'a3'];
    const c = crawling(ids);
    const owner = c.order('late.test', ids)[0]!;
    const other = ids.find((id) => id !== owner)!;
    c.lose = (from, to, { type }) => from === other && to === owner && type === 'URLS';
    const url = 'http://late.test/';
    const told = seed(c, other, [{ url, depth: 0 }]);
    c.runUntil('the receipt has arrived', () => told.length > 0);
    assert.deepEqual(told, [{ ok: true, owners: { [url]: null } }]);
    c.lose = () => false;
    c.runToEnd();
    assert.equal(c.log.filter((visit) => visit.url === url).length, 1);
  });

  it('orders: a complete crawl refuses seeds', () => {
    const c = cluster(['a1', 'a2'], {}, 2, 2);
    c.startAll();
    c.runUntil('an agent is complete', () =>
      c.living().some(({ id }) => c.snapshot(id).lifecycle === 'complete'),
    );
    const { id } = c.living().find((a) => c.snapshot(a.id).lifecycle === 'complete')!;
    const [told] = seed(c, id, [{ url: 'http://late.test/', depth: 0 }]);
    assert.ok(told && !told.ok && /start the agents again/.test(told.why));
  });
});

describe('a new round', () => {
  const askedSince = (c: Cluster, since: number) =>
    new Set(c.log.filter(({ start, whole }) => whole && start > since).map(({ url }) => url));
  const begin = (c: Cluster, id: string, round: number): number => {
    c.agents.get(id)!.inputs.push(() => {
      c.agents.get(id)!.core.operator.refresh(round, c.instant(id));
    });
    return c.now;
  };

  it('rounds: every known page is requested again although an agent dies', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.runUntil('most is fetched', () => c.fetched().size > 1100);
    const since = begin(c, 'a2', 7);
    c.run(SUSPECT_MS);
    c.kill('a3');
    c.runToEnd(200_000);
    assert.deepEqual(endCodes(c), [0, 0, undefined]);
    const pages = [...c.web.keys()];
    const asked = askedSince(c, since);
    // Requests that were open then were answered during the round.
    for (const { start, end, url } of c.log) if (start <= since && end > since) asked.add(url);
    assert.deepEqual(
      pages.filter((url) => !asked.has(url)),
      [],
    );
    assert.deepEqual(c.impolite(), []);
  });

  it('rounds: no agent ends while another has not received the refresh', () => {
    const c = cluster(['a1', 'a2', 'a3'], {}, 6, 4);
    c.startAll();
    c.runUntil('all is fetched', () => c.fetched().size === 24);
    c.lose = (_, __, { type }) => type === 'ORDERS';
    const since = begin(c, 'a1', 7);
    c.run(5 * SUSPECT_MS);
    assert.deepEqual(endCodes(c), [undefined, undefined, undefined]);
    c.lose = () => false;
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.equal([...c.web.keys()].filter((url) => askedSince(c, since).has(url)).length, 24);
  });
});
