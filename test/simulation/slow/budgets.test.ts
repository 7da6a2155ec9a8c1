// The shared limits of a cluster (adr/0030), on virtual time. Requests to an IP address that many
// hosts share keep its delay, whichever agent sends them, and the page limit is met exactly.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gaps, IDS, shared } from '../budgets-stage.ts';
import { Cluster, DELAY_MS, SUSPECT_MS } from '../cluster.ts';
import { Random } from '../random.ts';
import { denseWeb } from '../webs.ts';

describe('address permits', () => {
  it('addresses: the delay of each address holds although an agent is killed and returns', () => {
    for (const id of IDS) {
      const cluster = shared();
      cluster.runUntil('a third is fetched', () => cluster.fetched().size > 40, 120_000);
      cluster.kill(id);
      cluster.run(2 * SUSPECT_MS);
      cluster.start(id);
      cluster.runToEnd(120_000);
      assert.deepEqual(gaps(cluster), [], id);
      assert.equal(cluster.fetched().size, 120);
      cluster.close();
    }
  });

  it('addresses: four agents with 20 hosts on 3 addresses keep the delay of each address', () => {
    const cluster = shared();
    cluster.runToEnd(120_000);
    assert.deepEqual(gaps(cluster), []);
    assert.deepEqual(cluster.impolite(), []);
    assert.equal(cluster.fetched().size, 120);
    // 47 requests to each address, about 65 ms between their starts if no time were lost.
    const tookMs = Math.max(...cluster.log.map(({ end }) => end)) - cluster.log[0]!.start;
    assert.ok(tookMs < 47 * 65 * 1.6, `${tookMs} ms`);
    cluster.close();
  });

  it('addresses: a host that waits for a permit occupies no thread', () => {
    const cluster = shared({
      ids: ['a1'],
      ipDelayMs: 500,
      addressOf: (host) => (host === 'h19.test' ? 'lone' : 'crowd'),
    });
    cluster.runUntil('the lone host is done', () => {
      return cluster.log.filter(({ host }) => host === 'h19.test').length === 7;
    });
    const crowd = cluster.log.filter(({ host }) => host !== 'h19.test');
    assert.ok(crowd.length <= 8, `${crowd.length} requests to the crowded address by then`);
    cluster.close();
  });

  it('addresses: agents send no messages about shared limits if none is configured', () => {
    const cluster = shared({ ipDelayMs: 0 });
    cluster.runToEnd(120_000);
    const types = new Set(cluster.sent.map(({ message }) => message.type));
    for (const type of ['SLOT_ASK', 'PAGES_ASK', 'COUNT'] as const) assert.ok(!types.has(type));
    cluster.close();
  });
});

describe('the page limit', () => {
  const finished = (cluster: Cluster) => {
    const pages = new Set<string>();
    for (const { db } of cluster.disks.values()) {
      for (const url of db.prepare<[], string>('SELECT url FROM pages').pluck().all()) {
        pages.add(url);
      }
    }
    return pages.size;
  };

  it('pages: the final count is exact although an agent is killed with its disk', () => {
    for (const id of IDS) {
      const cluster = shared({ ipDelayMs: 0, pagesMax: 60, delayMs: 2 * DELAY_MS });
      cluster.runUntil('a third is fetched', () => cluster.fetched().size > 20, 120_000);
      cluster.kill(id);
      cluster.wipe(id);
      cluster.runToEnd(120_000);
      assert.equal(finished(cluster), 60, `${id} was killed`);
      cluster.close();
    }
  });

  it('pages: the final count is exact although half of the messages about tokens are lost', () => {
    for (let seed = 1; seed <= 8; seed++) {
      const cluster = shared({ ipDelayMs: 0, pagesMax: 60, seed });
      const random = new Random(seed);
      cluster.lose = (_, __, { type }) => type.startsWith('PAGES_') && random.chance(0.5);
      cluster.runToEnd(120_000);
      assert.equal(finished(cluster), 60, `seed ${seed}`);
      cluster.close();
    }
  });

  it('pages: the cluster fetches exactly as many pages as the limit allows, and completes', () => {
    for (const pagesMax of [1, 7, 50, 119, 120, 500]) {
      const cluster = shared({ ipDelayMs: 0, pagesMax });
      cluster.runToEnd(120_000);
      assert.equal(finished(cluster), Math.min(pagesMax, 120), `limit ${pagesMax}`);
      assert.equal(cluster.fetched().size, Math.min(pagesMax, 120));
      const skipped = [...cluster.disks.values()].map(({ db }) =>
        db.prepare<[], number>("SELECT count(*) FROM skipped WHERE reason = 'pages'").pluck().get(),
      );
      const over = skipped.reduce((sum: number, n) => sum + (n ?? 0), 0);
      assert.equal(over > 0, pagesMax < 120, `${over} skipped`);
      const queued = [...cluster.disks.values()].map(({ db }) =>
        db.prepare<[], number>('SELECT count(*) FROM frontier').pluck().get(),
      );
      assert.ok(queued.every((n) => n === 0));
      cluster.close();
    }
  });
});

describe('the page limit in a later round', () => {
  /**
   * A crawl that ended at its limit of 60 of 120 pages. All agents but the deaf ones begin a new
   * round.
   */
  function again(isDeaf: (id: string) => boolean): {
    cluster: Cluster;
    web: Map<string, readonly string[]>;
    since: number;
  } {
    const web = new Map<string, readonly string[]>(denseWeb(20, 6));
    const seeds = [...web.keys()].slice(0, 20);
    const cluster = new Cluster({ ids: IDS, web, seeds, pagesMax: 60 });
    cluster.startAll();
    cluster.runToEnd(120_000);
    assert.equal(cluster.fetched().size, 60);
    const since = cluster.now;
    for (const id of IDS) cluster.start(id);
    // A joining agent receives all directives. From now on each agent receives a directive
    // separately.
    cluster.runUntil('all have joined', () => IDS.every((id) => cluster.snapshot(id).joined));
    for (const id of IDS.filter((one) => !isDeaf(one))) {
      const { core, inputs } = cluster.agents.get(id)!;
      inputs.push(() => core.operator.refresh(1, cluster.instant(id)));
    }
    return { cluster, web, since };
  }

  function asked({ log, web }: Cluster, since: number): string[] {
    const whole = log.filter(({ start, whole }) => whole && start > since);
    return whole.map(({ url }) => url).filter((url) => web.has(url));
  }

  /** Adds to each page a link to a new page of its host: more than the limit admits. */
  function grow(web: Map<string, readonly string[]>): void {
    for (const [url, links] of [...web]) {
      web.set(`${url}-new`, []);
      web.set(url, [...links, `${url}-new`]);
    }
  }

  it('rounds: pages that a late agent fetched in the previous round do not count', () => {
    for (const deaf of IDS) {
      const { cluster, web, since } = again((id) => id === deaf);
      grow(web);
      cluster.lose = (_, to, { type }) => type === 'ORDERS' && to === deaf;
      cluster.run(4 * SUSPECT_MS);
      cluster.lose = () => false;
      cluster.runToEnd(120_000);
      assert.equal(asked(cluster, since).length, 60, `${deaf} received the refresh late`);
      cluster.close();
    }
  });

  it('rounds: the limit holds although at first only one agent has received the refresh', () => {
    for (const first of IDS) {
      const { cluster, web, since } = again((id) => id !== first);
      grow(web);
      cluster.lose = (_, __, { type }) => type === 'ORDERS';
      cluster.run(4 * SUSPECT_MS);
      cluster.lose = () => false;
      cluster.runToEnd(120_000);
      assert.equal(asked(cluster, since).length, 60, `${first} alone had received the refresh`);
      cluster.close();
    }
  });

  it('rounds: at the limit every fetched page is requested again, and none is skipped', () => {
    const { cluster, since } = again(() => false);
    cluster.runToEnd(120_000);
    const pages = asked(cluster, since);
    assert.deepEqual(new Set(pages), new Set(cluster.fetched().keys()));
    assert.equal(pages.length, 60);
    cluster.close();
  });
});

describe('the shared limits in the status of an agent', () => {
  const said = (cluster: Cluster) => IDS.map((id) => cluster.snapshot(id).budgets);

  it('status: shows null for both shared limits if none is configured', () => {
    const cluster = shared({ ipDelayMs: 0 });
    cluster.run(200);
    for (const budgets of said(cluster)) {
      assert.deepEqual(budgets, { pages: null, addresses: null });
    }
    cluster.close();
  });

  it('status: one agent grants each address one permit at a time, and counts waiting hosts', () => {
    const cluster = shared();
    cluster.runUntil('all addresses are in use', () => {
      return said(cluster).reduce((sum, { addresses }) => sum + addresses!.granted, 0) === 3;
    });
    const addresses = said(cluster).map((budgets) => budgets.addresses!);
    const sum = (of: (one: (typeof addresses)[number]) => number) =>
      addresses.reduce((all, one) => all + of(one), 0);
    assert.equal(
      sum(({ owned }) => owned),
      3,
    );
    assert.ok(sum(({ used }) => used) <= 3);
    assert.ok(sum(({ hostsWaiting }) => hostsWaiting) > 0);
    cluster.runToEnd(120_000);
    cluster.close();
  });

  it('status: one agent reports how much of the limit is spent, and when it is reached', () => {
    const pagesMax = 60;
    const cluster = shared({ ipDelayMs: 0, pagesMax });
    cluster.runUntil('a third is fetched', () => cluster.fetched().size > 40, 120_000);
    const spent = said(cluster).flatMap(({ pages }) => pages?.spent ?? []);
    const tokens = said(cluster).reduce((all, { pages }) => all + pages!.tokens, 0);
    assert.equal(spent.length, 1);
    assert.ok(spent[0]! >= cluster.fetched().size && spent[0]! <= pagesMax, `${spent[0]} spent`);
    assert.ok(tokens > 0 && tokens <= pagesMax - 40, `${tokens} tokens`);
    cluster.runUntil('it is reached', () => said(cluster).some(({ pages }) => pages!.reached));
    for (const { pages } of said(cluster)) assert.equal(pages!.limit, pagesMax);
    cluster.close();
  });
});
