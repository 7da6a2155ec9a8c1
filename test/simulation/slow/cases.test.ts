// The slower of the scenarios in which earlier versions of the protocol failed, each on a cluster
// of real cores: hand-off, routing and completion. The others are in
// `test/simulation/cases.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../../agent/core/protocol/messages.ts';
import { cluster, crawling, endCodes, inc, sentOf } from '../case-kit.ts';
import { SUSPECT_MS } from '../cluster.ts';

describe('join, hand-off, takeover', () => {
  it('no page is fetched twice when an agent joins while another never starts', () => {
    for (let seed = 1; seed <= 8; seed++) {
      const c = cluster(['a1', 'a2', 'a3'], { seed, weather: { slow: 0.5, slowMs: 60 } });
      c.start('a1');
      c.runUntil('a1 crawls', () => c.log.length >= 60);
      c.start('a2');
      c.runUntil('a2 joins', () => c.snapshot('a2').joined, 3 * SUSPECT_MS);
      c.run(2 * SUSPECT_MS);
      const urls = c.log.map(({ url }) => url).filter((url) => !url.endsWith('/robots.txt'));
      const again = urls.filter((url, k) => urls.indexOf(url) < k);
      assert.deepEqual(again, [], `seed ${seed}`);
    }
  });

  it('lists to an agent that turns out not to be the owner are withdrawn (staggered start)', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a2');
    c.network.cut('a3', 'a2');
    c.network.cut('a2', 'a3');
    c.runUntil('a2 crawls alone', () => c.log.length >= 60);
    c.start('a1');
    c.run(15);
    c.start('a3');
    c.run(30);
    c.network.heal();
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
  });

  it('a joining agent waits for every agent that may hold a lease from its previous run', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.kill('a1');
    c.network.cut('a2', 'a1');
    c.start('a1');
    c.run(0.5 * SUSPECT_MS);
    assert.equal(c.snapshot('a1').members.length >= 1, true);
    c.network.heal();
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('a WELCOME reports age 0 for the tombstone of an agent that is back in view', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.kill('a2');
    c.start('a2');
    c.run(2 * SUSPECT_MS);
    const since = c.now;
    c.kill('a3');
    c.start('a3');
    c.run(50);
    const ages = sentOf(c, 'WELCOME', since).flatMap(({ from, message }) =>
      message.type === 'WELCOME' && from === 'a1'
        ? message.gone.filter((g) => g.id === 'a2').map((g) => g.ageMs)
        : [],
    );
    assert.deepEqual(ages, [0]);
  });

  it('an agent acknowledges no URLs and sends no requests before it has joined', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.kill('a3');
    c.network.cut('a2', 'a3');
    const since = c.now;
    c.start('a3');
    c.run(0.4 * SUSPECT_MS);
    if (!c.snapshot('a3').joined) {
      assert.equal(
        c.sent.some((s) => s.at > since && s.from === 'a3' && s.message.type === 'URLS_ACK'),
        false,
      );
      assert.equal(
        c.log.some((v) => v.by === 'a3' && v.start > since),
        false,
      );
    }
    c.network.heal();
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('a takeover of many hosts is polite, and the crawl completes', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.kill('a2');
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
  });

  it('an unjoined agent accepts a refusal only from a joined agent or a smaller identifier', () => {
    const settings = (id: AgentId) =>
      id === 'a3' ? { fingerprint: 'other', fingerprintHash: 'other' } : {};
    const c = cluster(['a1', 'a2', 'a3'], { settings });
    c.startAll();
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 5]);
  });
});

describe('acknowledgements', () => {
  it('URLs that their receiver does not own stay in the outbox until the views agree', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.agents.get('a3')!.core.leave(c.instant('a3'));
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
  });

  it('repeated batches do not accumulate at a receiver that has not joined', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.kill('a2');
    c.network.cut('a3', 'a2');
    c.start('a2');
    c.run(0.9 * SUSPECT_MS);
    c.network.heal();
    c.runToEnd();
    const acks = sentOf(c, 'URLS_ACK').filter((s) => s.from === 'a2').length;
    const batches = sentOf(c, 'URLS').filter((s) => s.to === 'a2').length;
    assert.ok(acks <= batches);
  });
});

describe('completion', () => {
  it('a round that begins in the turn of the last COMPLETE is crawled', () => {
    const c = cluster(['a1', 'a2']);
    c.startAll();
    c.lose = (_, __, message) => message.type === 'COMPLETE';
    c.runUntil('both are complete', () => {
      return c.living().every(({ id }) => c.snapshot(id).lifecycle === 'complete');
    });
    c.lose = () => false;
    const pages = c.fetched().size;
    const from = { id: 'a2', inc: inc(c, 'a2') };
    const to = { id: 'a1', inc: inc(c, 'a1') };
    const round = { kind: 'refresh', host: '', value: 1, n: 1, by: 'a2' } as const;
    c.deliver('a1', { from, to, message: { type: 'ORDERS', orders: [round] } });
    c.deliver('a1', { from, to, message: { type: 'COMPLETE' } });
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0]);
    assert.deepEqual(
      [...c.fetched()].filter(([, times]) => times !== 2),
      [],
      `of ${pages} pages`,
    );
  });

  it('a permanent one-way cut does not prevent the end of the crawl', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.network.cut('a1', 'a2');
    c.startAll();
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.deepEqual(c.impolite(), []);
  });
});
