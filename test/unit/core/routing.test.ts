// Which links go to the outbox: a URL that its owner has taken is not sent again while the view
// stays, and nothing counts as taken before the owner has said so.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BOUNDS } from '../../../agent/core/bounds.ts';
import type { Outbound } from '../../../agent/core/outbound.ts';
import { Routing } from '../../../agent/core/routing.ts';
import { SeenFilter } from '../../../agent/core/seen-filter.ts';
import type { CoreSettings } from '../../../agent/core/settings.ts';
import type { Settlement } from '../../../agent/core/settlement.ts';
import type { OutboxEntry, Store } from '../../../agent/core/store.ts';
import type { Member, View } from '../../../agent/core/view.ts';

const NOW = { mono: 1000, wall: 1000 };
const FAR = 'http://far.test/';
const NEAR = 'http://near.test/';
const other = { card: { id: 'other', inc: 1 } } as Member;

/** Agent `me` owns all hosts but far.test, which is `other`'s. */
function agent(seenUrls = BOUNDS.seenUrls) {
  const outbox: OutboxEntry[] = [];
  let lastId = 0;
  const store = {
    addToOutbox: (_host, _owner, item) => {
      const known = outbox.find((entry) => entry.item.url === item.url);
      if (known) return known.id;
      outbox.push({ id: ++lastId, item });
      return lastId;
    },
    outboxCount: () => outbox.length,
    outboxOf: (_owner, max) => outbox.slice(0, max),
    outboxHosts: () => [],
    removeTaken: (sent) => {
      for (const { id } of sent)
        outbox.splice(
          outbox.findIndex((entry) => entry.id === id),
          1,
        );
      return sent.map(({ id }) => id);
    },
    insertUrl: () => 'new',
    lastNumber: () => 7,
  } as Partial<Store> as Store;
  const batches: { batch: number; urls: string[] }[] = [];
  const outbound = {
    toMember: (_member, message) => {
      assert.equal(message.type, 'URLS');
      if (message.type !== 'URLS') return;
      batches.push({ batch: message.batch, urls: message.urls.map(({ url }) => url) });
    },
  } as Partial<Outbound> as Outbound;
  const seen = new SeenFilter(seenUrls, 0);
  const routing = new Routing({
    ...{ store, outbound, seen },
    settings: { id: 'me', bounds: BOUNDS, heartbeatMs: 100 } as CoreSettings,
    view: {
      owner: (host: string) => (host === 'far.test' ? 'other' : 'me'),
      members: () => [other],
    } as unknown as View,
    settlement: { left: () => {} } as Partial<Settlement> as Settlement,
    onQueued: () => {},
    admit: () => null,
    hostOf: (url) => new URL(url).host,
  });
  const last = () => batches.at(-1)!;
  return {
    routing,
    seen,
    /** Entries that the page of these links waits for. */
    links: (...urls: string[]) => routing.route(urls.map((url) => ({ url, depth: 3 }))).outboxIds,
    /** A turn that sends, and the answer to what it sent. */
    exchange: (notMine: number[] = []) => {
      routing.pump(NOW);
      routing.onUrlsAck(other, last().batch, notMine, NOW);
      seen.committed();
    },
    sent: () => batches.flatMap(({ urls }) => urls),
    outbox,
  };
}

describe('routing of links', () => {
  it('what the owner has taken is not sent again', () => {
    const { routing, links, exchange, sent, outbox } = agent();
    routing.join();
    assert.equal(links(FAR).size, 1);
    exchange();
    assert.equal(links(FAR).size, 0);
    assert.deepEqual([sent(), outbox], [[FAR], []]);
  });

  it('a page waits for the link that another page has in the outbox', () => {
    const { routing, links } = agent();
    routing.join();
    const first = links(FAR);
    routing.pump(NOW);
    assert.deepEqual(links(FAR), first);
  });

  it('what the peer calls another’s is not taken', () => {
    const { routing, links, exchange, outbox } = agent();
    routing.join();
    const first = links(`${FAR}a`, FAR);
    exchange([1]);
    assert.deepEqual(
      outbox.map(({ id }) => id),
      [...first].slice(1),
    );
    assert.deepEqual([links(`${FAR}a`).size, links(FAR).size], [0, 1]);
  });

  it('what the owner says that it took from others is not sent at all', () => {
    const { routing, seen, links, sent } = agent();
    routing.join();
    const owner = new SeenFilter(64, 9);
    seen.keyOf('other', 9);
    const { low, high } = owner.hashOf(FAR);
    seen.told(low, high);
    assert.equal(links(FAR).size, 0);
    assert.equal(routing.route([{ url: FAR, depth: 0 }]).outboxIds.size, 0);
    assert.equal(links(`${FAR}a`).size, 1);
    assert.deepEqual(sent(), []);
    routing.viewChanged();
    assert.equal(links(FAR).size, 1);
  });

  it('another view: whoever owns the host now is told', () => {
    const { routing, links, exchange } = agent();
    routing.join();
    links(FAR);
    exchange();
    routing.viewChanged();
    assert.equal(links(FAR).size, 1);
  });

  it('a seed that was taken from deeper down is sent once more, for its depth', () => {
    const { routing, links, exchange } = agent();
    routing.join();
    links(FAR);
    exchange();
    assert.equal(routing.route([{ url: FAR, depth: 0 }]).outboxIds.size, 1);
    exchange();
    assert.equal(routing.route([{ url: FAR, depth: 0 }]).outboxIds.size, 0);
  });

  it('before it counts: what it recorded itself may be another’s, and goes to the outbox', () => {
    const { routing, links } = agent();
    routing.record('near.test', { url: NEAR, depth: 3 });
    assert.equal(links(NEAR).size, 1);
    routing.join();
    assert.equal(links(NEAR).size, 0);
  });

  it('no more is remembered than the filter has places for', () => {
    const { routing, links, exchange } = agent(2);
    routing.join();
    for (const path of ['a', 'b', 'c', 'd', 'e', 'f']) {
      links(FAR + path);
      exchange();
    }
    assert.deepEqual([links(`${FAR}f`).size, links(`${FAR}a`).size], [0, 1]);
  });
});
