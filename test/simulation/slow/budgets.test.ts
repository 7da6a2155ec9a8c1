// The slower tests of the shared limits of a cluster (adr/0030), on virtual time: addresses that
// many hosts share, and the page limit. The others are in `test/simulation/budgets.test.ts`.

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
});
