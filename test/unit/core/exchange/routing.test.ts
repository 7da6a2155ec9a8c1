// Which links go to the outbox: a URL that its owner has acknowledged is not sent again while the
// view stays the same, and no URL counts as acknowledged before that.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Routing } from '../../../../agent/core/exchange/routing.ts';
import { SeenFilter } from '../../../../agent/core/exchange/seen-filter.ts';
import type { Outbound } from '../../../../agent/core/membership/outbound.ts';
import { FullView } from '../../../../agent/core/membership/overlay.ts';
import type { Member, View } from '../../../../agent/core/membership/view.ts';
import {
  Whereabouts,
  type WhereaboutsParts,
} from '../../../../agent/core/membership/whereabouts.ts';
import type { Task } from '../../../../agent/core/protocol/backlog.ts';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';
import type { OutboxEntry, Store } from '../../../../agent/core/protocol/core-store.ts';
import type { UrlItem } from '../../../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../../../agent/core/protocol/settings.ts';
import type { Settlement } from '../../../../agent/core/replication/settlement.ts';

const NOW = { mono: 1000, wall: 1000 };
const FAR = 'http://far.test/';
const NEAR = 'http://near.test/';
const other = { card: { id: 'other', inc: 1 } } as Member;

/** Agent `me` owns all hosts except far.test, which `other` owns. */
function agent(seenUrls = BOUNDS.seenUrls) {
  const outbox: OutboxEntry[] = [];
  const inserted: UrlItem[] = [];
  let lastId = 0;
  const store = {
    addToOutbox: (_host, _owner, item) => {
      const known = outbox.find((entry) => entry.item.url === item.url);
      if (known) return known.id;
      outbox.push({ id: ++lastId, item });
      return lastId;
    },
    outboxCount: () => outbox.length,
    outboxOf: (_owner, max, upTo) => outbox.filter(({ id }) => id <= upTo).slice(0, max),
    outboxAfter: (after, max) =>
      outbox
        .filter(({ id }) => id > after)
        .slice(0, max)
        .map((entry) => ({ ...entry, host: 'far.test', owner: 'other' })),
    rerouteOutbox: (id, owner) => {
      rerouted.push([id, owner]);
    },
    removeFromOutbox: (ids) => {
      for (const id of ids) remove(id);
    },
    removeTaken: (sent) => {
      for (const { id } of sent) remove(id);
      return sent.map(({ id }) => id);
    },
    enqueue: (_host, item) => {
      inserted.push(item);
      return 'new';
    },
    lastNumber: () => 7,
  } as Partial<Store> as Store;
  const rerouted: [number, string][] = [];
  const remove = (id: number) => {
    const at = outbox.findIndex((entry) => entry.id === id);
    outbox.splice(at, 1);
  };
  let pieces: Task[] = [];
  const owners = new Map([['far.test', 'other']]);
  const homecomings: number[] = [];
  const batches: { batch: number; urls: string[] }[] = [];
  const outbound = {
    toCard: (_card, message) => {
      assert.equal(message.type, 'URLS');
      if (message.type !== 'URLS') return;
      batches.push({ batch: message.batch, urls: message.urls.map(({ url }) => url) });
    },
  } as Partial<Outbound> as Outbound;
  const seen = new SeenFilter(seenUrls, 0);
  const view = {
    owner: (host: string) => owners.get(host) ?? 'me',
    members: () => [other],
    get: () => other,
  } as unknown as View;
  const routing = new Routing({
    ...{
      store,
      outbound,
      seen,
      whereabouts: new Whereabouts({
        view,
        overlay: new FullView(),
      } as unknown as WhereaboutsParts),
    },
    settings: { id: 'me', bounds: { ...BOUNDS, pieceUrls: 2 }, heartbeatMs: 100 } as CoreSettings,
    view,
    settlement: { left: (ids) => homecomings.push(...ids) } as Partial<Settlement> as Settlement,
    visits: { schedule: () => {} },
    admit: () => null,
    hostOf: (url) => new URL(url).host,
    backlog: {
      add: (task) => pieces.push(task),
      delete: (task) => {
        pieces = pieces.filter((other) => other !== task);
      },
    },
  });
  const last = () => batches.at(-1)!;
  return {
    routing,
    seen,
    /** Outbox entries that the page with these links waits for. */
    links: (...urls: string[]) => routing.route(urls.map((url) => ({ url, depth: 3 }))).outboxIds,
    /** A turn that sends a batch, and the acknowledgement of the batch. */
    exchange: (notMine: number[] = []) => {
      routing.pump(NOW);
      routing.onUrlsAck(other.card.id, last().batch, notMine, NOW);
      seen.committed();
    },
    /** Runs one piece of the backlog. */
    piece: () => {
      pieces = pieces.filter((task) => !task.step(NOW));
    },
    ...{ owners, rerouted, homecomings },
    sent: () => batches.flatMap(({ urls }) => urls),
    ...{ outbox, inserted },
  };
}

describe('routing of links', () => {
  it('does not resend a URL that its owner has acknowledged', () => {
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

  it('keeps a URL in the outbox if the peer does not own it', () => {
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

  it('does not send a URL that its owner has announced', () => {
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

  it('after a view change, sends the URL to the owner again', () => {
    const { routing, links, exchange } = agent();
    routing.join();
    links(FAR);
    exchange();
    routing.viewChanged();
    assert.equal(links(FAR).size, 1);
  });

  it('resends an acknowledged URL once as a seed, for its depth', () => {
    const { routing, links, exchange } = agent();
    routing.join();
    links(FAR);
    exchange();
    assert.equal(routing.route([{ url: FAR, depth: 0 }]).outboxIds.size, 1);
    exchange();
    assert.equal(routing.route([{ url: FAR, depth: 0 }]).outboxIds.size, 0);
  });

  it('sends or records a known link again if it is a sitemap', () => {
    const { routing, links, exchange, inserted } = agent();
    routing.join();
    const sitemap = true;
    links(FAR, NEAR);
    exchange();
    links(FAR, NEAR);
    assert.deepEqual(inserted, [{ url: NEAR, depth: 3 }]);
    assert.equal(routing.route([{ url: FAR, depth: 3, sitemap }]).outboxIds.size, 1);
    routing.enqueue('near.test', { url: NEAR, depth: 3, sitemap });
    assert.deepEqual(inserted[1], { url: NEAR, depth: 3, sitemap });
  });

  it('before the join, sends URLs that it recorded itself to the outbox', () => {
    const { routing, links } = agent();
    routing.enqueue('near.test', { url: NEAR, depth: 3 });
    assert.equal(links(NEAR).size, 1);
    routing.join();
    assert.equal(links(NEAR).size, 0);
  });

  it('remembers no more URLs than the filter has places', () => {
    const { routing, links, exchange } = agent(2);
    routing.join();
    for (const path of ['a', 'b', 'c', 'd', 'e', 'f']) {
      links(FAR + path);
      exchange();
    }
    assert.deepEqual([links(`${FAR}f`).size, links(`${FAR}a`).size], [0, 1]);
  });

  it('after a view change, checks the outbox in pieces, and sends what it has checked', () => {
    const { routing, links, piece, sent, rerouted } = agent();
    routing.join();
    links(`${FAR}a`, `${FAR}b`, `${FAR}c`);
    routing.viewChanged();
    routing.pump(NOW);
    assert.deepEqual(sent(), []);
    piece();
    routing.pump(NOW);
    assert.deepEqual(sent(), [`${FAR}a`, `${FAR}b`]);
    assert.deepEqual(rerouted, []);
  });

  it('a view change during the check restarts the check', () => {
    const { routing, links, piece, owners, rerouted, outbox, homecomings } = agent();
    routing.join();
    links(`${FAR}a`, `${FAR}b`, `${FAR}c`);
    owners.set('far.test', 'third');
    routing.viewChanged();
    piece();
    assert.deepEqual(rerouted, [
      [1, 'third'],
      [2, 'third'],
    ]);
    owners.set('far.test', 'me');
    routing.viewChanged();
    for (let i = 0; i < 3; i++) piece();
    assert.deepEqual([outbox, homecomings], [[], [1, 2, 3]]);
  });

  it('a new incarnation keeps outbox entries of its own hosts until it has joined', () => {
    const { routing, links, piece, owners, outbox } = agent();
    routing.join();
    links(`${FAR}a`);
    owners.set('far.test', 'me');
    routing.viewChanged();
    routing.reset();
    piece();
    assert.equal(outbox.length, 1);
    routing.join();
    piece();
    assert.equal(outbox.length, 0);
  });
});
