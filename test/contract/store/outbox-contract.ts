// The part of the store contract about the outbox: URLs that their owners have not acknowledged.

import assert from 'node:assert/strict';
import type { UrlItem } from '../../../agent/core/protocol/messages.ts';
import type { SqliteStore } from '../../../agent/storage/sqlite-store.ts';
import { at, claim, HOST, turn } from './store-contract.ts';

const add = (store: SqliteStore, url: string, owner = 'x', rest: Partial<UrlItem> = {}) =>
  turn(store, () => store.addToOutbox(new URL(url).hostname, owner, { url, depth: 3, ...rest }));

claim('the outbox holds a URL once and merges what later entries say of it', (store) => {
  const id = add(store, at('/1'), 'x', { attempts: 1, referrer: at('/r', 'r.test') });
  assert.equal(add(store, at('/1'), 'y', { depth: 1 }), id);
  assert.equal(add(store, at('/1'), 'x', { depth: 5, attempts: 2 }), id);
  assert.equal(store.outboxCount(), 1);
  const item = { url: at('/1'), depth: 1, attempts: 2, referrer: at('/r', 'r.test') };
  assert.deepEqual(store.outboxOf('x', 10), [{ id, item }]);
  assert.deepEqual(store.outboxOf('y', 10), []);
});

claim('the entries of an owner are returned in order, up to a maximum', (store) => {
  const ids = [1, 2, 3, 4].map((n) => add(store, at(`/${n}`), n === 2 ? 'y' : 'x'));
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => a - b),
  );
  const urls = (owner: string, max: number) =>
    store.outboxOf(owner, max).map(({ item }) => item.url);
  assert.deepEqual(urls('x', 2), [at('/1'), at('/3')]);
  assert.deepEqual(urls('x', 9), [at('/1'), at('/3'), at('/4')]);
  assert.deepEqual(urls('y', 9), [at('/2')]);
});

claim('an owner whose outbox was empty gets the next entry', (store) => {
  assert.deepEqual(store.outboxOf('x', 9), []);
  const first = add(store, at('/1'));
  turn(store, () => store.removeFromOutbox([first]));
  assert.deepEqual(store.outboxOf('x', 9), []);
  const second = add(store, at('/2'));
  assert.deepEqual(
    store.outboxOf('x', 9).map(({ id }) => id),
    [second],
  );
});

claim('a removed entry is subtracted from the count once', (store) => {
  const ids = [1, 2, 3].map((n) => add(store, at(`/${n}`)));
  assert.equal(store.outboxFirst(), ids[0]);
  turn(store, () => store.removeFromOutbox([ids[0]!, ids[0]!, 99_999]));
  assert.equal(store.outboxCount(), 2);
  assert.equal(store.outboxFirst(), ids[1]);
  turn(store, () => store.removeFromOutbox(ids));
  assert.equal(store.outboxCount(), 0);
  assert.equal(store.outboxFirst(), null);
  assert.equal(store.lastOutboxId(), ids[2]);
});

claim('an acknowledged entry stays if its depth has decreased since it was sent', (store) => {
  const [kept, gone] = [add(store, at('/1')), add(store, at('/2'))];
  const sent = store.outboxOf('x', 9);
  add(store, at('/1'), 'x', { depth: 0 });
  add(store, at('/2'), 'x', { depth: 7 });
  assert.deepEqual(
    turn(store, () => store.removeTaken(sent)),
    [gone],
  );
  assert.equal(store.outboxCount(), 1);
  assert.deepEqual(store.outboxOf('x', 9), [{ id: kept, item: { url: at('/1'), depth: 0 } }]);
  assert.deepEqual(
    turn(store, () => store.removeTaken(store.outboxOf('x', 9))),
    [kept],
  );
  assert.deepEqual(
    turn(store, () => store.removeTaken(sent)),
    [],
  );
  assert.equal(store.outboxCount(), 0);
});

claim('an acknowledged entry stays if it became a sitemap after it was sent', (store) => {
  const sitemap = true;
  const [kept, gone] = [add(store, at('/1')), add(store, at('/2'), 'x', { sitemap })];
  const sent = store.outboxOf('x', 9);
  add(store, at('/1'), 'x', { sitemap });
  add(store, at('/2'), 'x');
  assert.deepEqual(
    turn(store, () => store.removeTaken(sent)),
    [gone],
  );
  const left = store.outboxOf('x', 9);
  assert.deepEqual(left, [{ id: kept, item: { url: at('/1'), depth: 3, sitemap } }]);
  assert.deepEqual(
    turn(store, () => store.removeTaken(left)),
    [kept],
  );
});

claim('an id is never reused', (store) => {
  const id = add(store, at('/1'));
  turn(store, () => store.removeFromOutbox([id]));
  assert.ok(add(store, at('/1')) > id);
});

claim(
  'a rerouted entry belongs to the new owner, and entries are returned up to an id',
  (store) => {
    const [first, second, third] = [
      add(store, at('/1'), 'x'),
      add(store, at('/2'), 'x'),
      add(store, at('/1', 'b.test'), 'x'),
    ];
    assert.deepEqual(store.outboxOf('z', 9), []);
    turn(store, () => store.rerouteOutbox(first, 'z'));
    turn(store, () => store.rerouteOutbox(third, 'z'));
    const idsOf = (owner: string, upTo?: number) =>
      store.outboxOf(owner, 9, upTo).map(({ id }) => id);
    assert.deepEqual([idsOf('x'), idsOf('z')], [[second], [first, third]]);
    assert.deepEqual([idsOf('x', first), idsOf('z', second)], [[], [first]]);
    // An empty result up to an id does not hide the later entries.
    assert.deepEqual(idsOf('x'), [second]);
    assert.deepEqual(
      store.outboxAfter(first, 9).map(({ id, host, owner }) => [id, host, owner]),
      [
        [second, HOST, 'x'],
        [third, 'b.test', 'z'],
      ],
    );
    assert.deepEqual(
      store.outboxAfter(0, 1).map(({ item }) => item.url),
      [at('/1')],
    );
  },
);

// ---- restarts
