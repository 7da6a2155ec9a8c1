// Scenarios in which earlier versions of the protocol failed, each on a cluster of real cores:
// hand-off, routing and completion.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { cluster, crawling, endCodes, inc, NOISY, sentOf } from './case-kit.ts';
import { type Cluster, LEASE_MS, SUSPECT_MS } from './cluster.ts';

function ownerIs(c: Cluster, id: AgentId, host: string): boolean {
  return c.log.some((v) => v.host === host && v.by === id);
}

describe('join, hand-off, takeover', () => {
  it('an agent that joins between two others waits for both lists, and loses no URL', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a1');
    c.runUntil('a1 crawls', () => c.log.length >= 60);
    c.start('a2');
    c.run(12);
    c.start('a3');
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.equal(c.fetched().size, 1200);
  });

  it('lists and yields are sent again until they are answered', () => {
    const c = cluster(['a1', 'a2']);
    c.start('a1');
    c.runUntil('a1 crawls', () => c.log.length >= 60);
    const lost = new Map<string, number>();
    c.lose = (from, to, { type }) => {
      if (!['LIST', 'LIST_ACK', 'YIELD', 'YIELD_ACK'].includes(type)) return false;
      const key = `${from} ${to} ${type}`;
      lost.set(key, (lost.get(key) ?? 0) + 1);
      return lost.get(key)! <= 3;
    };
    c.start('a2');
    c.runToEnd();
    assert.ok(lost.size >= 4);
    assert.deepEqual(c.impolite(), []);
    assert.equal(c.fetched().size, 1200);
  });

  it('when all agents leave at once, none of them waits for a successor', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    for (const { id, core } of c.living()) core.leave(c.instant(id));
    c.runToEnd(2 * SUSPECT_MS);
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    // No agent has received any hosts, so each still has its own. The views show it.
    const owned = [...c.agents.values()].reduce((sum, { store }) => sum + store.owned().hosts, 0);
    assert.ok(owned >= new Set(c.log.map((v) => v.host)).size);
  });

  it('a leaving agent that is reborn meets its successors again and hands over its hosts', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    c.agents.get('a2')!.core.leave(c.instant('a2'));
    c.stall('a2', LEASE_MS + 20);
    c.runUntil('a2 left', () => c.agents.get('a2')!.end !== null);
    const { reason, left } = c.agents.get('a2')!.end!;
    assert.deepEqual({ reason, left }, { reason: 'left the cluster', left: true });
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(c.impolite(), []);
  });
});

describe('acknowledgements', () => {
  it('a malformed URL is split out of its batch and ends as failed; the other URLs arrive', () => {
    const c = crawling(['a1', 'a2']);
    const a1 = c.agents.get('a1')!;
    let poison = '';
    for (let i = 0; poison === ''; i++) if (ownerIs(c, 'a2', `h${i}.test`)) poison = `h${i}.test`;
    const bad = `http://${poison}/bad`;
    a1.store.addToOutbox(poison, 'a2', { url: bad, depth: 0 });
    const deliver = c.deliver.bind(c);
    c.deliver = (to, envelope) => {
      const { message, from } = envelope;
      const refused = message.type === 'URLS' && message.urls.some((u) => u.url === bad);
      if (!refused) return deliver(to, envelope);
      const reply = { type: 'BATCH_REFUSED', batch: message.batch, reason: 'bad' } as const;
      deliver(from.id, { from: envelope.to, to: from, message: reply });
    };
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.equal(c.fetched().has(bad), false);
    assert.equal(a1.store.outboxCount(), 0);
  });
});

describe('completion', () => {
  it('completion waits for a pending takeover', () => {
    const c = crawling(['a1', 'a2', 'a3']);
    const died = c.now;
    c.kill('a2');
    c.runToEnd();
    assert.ok(c.now > died + SUSPECT_MS);
  });

  it('work that appears and ends between two heartbeats starts a new idle period', () => {
    const c = cluster(['a1', 'a2'], {}, 2, 3);
    c.startAll();
    c.runToEnd();
    assert.equal(c.fetched().size, 6);
  });

  it('COMPLETE from one agent does not end a member that still has work', () => {
    const c = crawling(['a1', 'a2']);
    const from = { id: 'a1', inc: inc(c, 'a1') };
    c.deliver('a2', { from, to: { id: 'a2', inc: inc(c, 'a2') }, message: { type: 'COMPLETE' } });
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
  });

  it('no agent sends COMPLETE while any agent has queued or unacknowledged URLs', () => {
    const c = cluster(['a1', 'a2', 'a3'], { seed: 7, weather: NOISY }, 12, 6);
    c.startAll();
    c.runUntil('an agent is complete', () => sentOf(c, 'COMPLETE').length > 0);
    assert.equal(c.fetched().size, 72);
    for (const { store } of c.agents.values()) {
      assert.equal(store.owned().queued + store.outboxCount(), 0);
    }
    c.runToEnd();
  });

  it('an agent that joins while the others linger receives COMPLETE and ends with 0', () => {
    const c = cluster(['a1', 'a2', 'a3'], {}, 4, 4);
    c.start('a1');
    c.start('a2');
    c.lose = (_, __, message) => message.type === 'COMPLETE' && c.living().length < 3;
    c.runUntil('complete', () => sentOf(c, 'COMPLETE').length > 0);
    c.start('a3');
    c.runUntil('a3 has ended', () => c.agents.get('a3')!.end !== null, 200);
    assert.match(c.agents.get('a3')!.end!.reason, /says that the crawl is complete/);
    c.runToEnd();
  });

  it('URLs that arrive while an agent lingers are crawled', () => {
    const c = cluster(['a1', 'a2'], {}, 4, 4);
    c.startAll();
    c.lose = (_, __, message) => message.type === 'COMPLETE';
    c.runUntil('both are complete', () => {
      return c.living().every(({ id }) => c.snapshot(id).lifecycle === 'complete');
    });
    const a1 = c.agents.get('a1')!;
    const host = c.log.find((v) => v.by === 'a1')!.host;
    const urls = [{ url: `http://${host}/late`, depth: 0 }];
    const from = { id: 'a2', inc: inc(c, 'a2') };
    const to = { id: 'a1', inc: inc(c, 'a1') };
    c.deliver('a1', { from, to, message: { type: 'URLS', batch: 1e6, urls } });
    c.runToEnd();
    assert.ok(c.fetched().has(`http://${host}/late`));
    assert.equal(a1.end?.code, 0);
  });
});
