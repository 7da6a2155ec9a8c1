// Tests the row ids of URLs: URLs with the same hashed id are kept apart in every operation, and
// values stored in short form are read back unchanged.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { TAIL_BOUNDS } from '../../../../agent/storage/rows/event-tails.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { HalfSipHash } from '../../../../agent/url/half-sip-hash.ts';
import { HOST, pageOf, turn } from '../../../contract/store/store-contract.ts';

const SLOTS = 2 ** 28;
const NOW = 1_700_000_000_000;

function open() {
  const db = openInMemory();
  return { db, store: new SqliteStore(db, { durability: 'process', hostDelayMs: 0 }) };
}

const hash = new HalfSipHash(0);
const slotOf = (key: string) => hash.of(key) >>> 4;

/** Two keys with the same hashed id; the first 60,000 numbers have about seven such pairs. */
function meeting(): [string, string] {
  const seen = new Map<number, string>();
  for (let n = 0; ; n++) {
    const key = `h/${n}`;
    const other = seen.get(slotOf(key));
    if (other !== undefined) return [other, key];
    seen.set(slotOf(key), key);
  }
}

const urlOf = (key: string) => `http://${HOST}${key.slice(1)}`;
const [first, second] = meeting();

test('slots: two URLs with the same hashed id are stored separately, each with its own state', () => {
  const { db, store } = open();
  turn(store, () => {
    for (const key of [first, second, first, second]) {
      store.enqueue(HOST, { url: urlOf(key), depth: 1 }, null);
    }
  });
  assert.equal(store.owned().queued, 2);
  const { number } = store.host(HOST);
  turn(store, () => {
    store.recordPage(number, pageOf(urlOf(second), { status: 404 }));
    store.settle(HOST, urlOf(second));
    store.enqueue(HOST, { url: urlOf(first), depth: 0 }, null);
  });
  assert.equal(store.nextUrl(number, NOW)?.url, urlOf(first));
  const pages = db.prepare('SELECT url, status, depth FROM pages').all();
  assert.deepEqual(pages, [{ url: urlOf(second), status: 404, depth: 1 }]);
  turn(store, () => store.skip(number, urlOf(first), 'robots'));
  assert.deepEqual(db.prepare('SELECT url FROM skipped').pluck().all(), [urlOf(first)]);
});

test('slots: two URLs with the same hashed id are copied separately, whatever their ids in the copy', () => {
  const [from, to] = [open(), open()];
  turn(from.store, () => {
    from.store.enqueue(HOST, { url: urlOf(first), depth: 1 }, null);
    from.store.enqueue(HOST, { url: urlOf(second), depth: 1, referrer: urlOf(first) }, null);
    from.store.recordPage(from.store.host(HOST).number, pageOf(urlOf(first)));
    from.store.settle(HOST, urlOf(first));
  });
  const { events, to: upTo } = from.store.rowEvents(HOST, 0, 100, NOW);
  turn(to.store, () => {
    // The copy has another host first, so its ids differ from those of the source.
    to.store.enqueue('b.test', { url: 'http://b.test/', depth: 0 }, null);
    const item = { host: HOST, from: 0, to: upTo, events, version: 1, backoffMs: 0, delayMs: 0 };
    to.store.applyRows('a', item, true, NOW);
  });
  const rows = 'SELECT url, referrer FROM frontier WHERE host = ?';
  assert.deepEqual(to.db.prepare(rows).all(HOST), [{ url: urlOf(second), referrer: urlOf(first) }]);
  assert.deepEqual(to.db.prepare('SELECT url FROM pages').pluck().all(), [urlOf(first)]);
});

test('slots: after the last row id the search continues with the first', () => {
  const { db, store } = open();
  turn(store, () => store.enqueue(HOST, { url: `http://${HOST}/seed`, depth: 0 }, null));
  const { number } = store.host(HOST);
  let key = 'h/0';
  for (let n = 1; n < 20_000; n++) if (slotOf(`h/${n}`) > slotOf(key)) key = `h/${n}`;
  const fill = db.prepare(
    "INSERT INTO urls (id, key, state, depth, found) VALUES (?, 'h/taken', 3, 0, 1)",
  );
  db.transaction(() => {
    for (let slot = slotOf(key); slot < SLOTS; slot++) fill.run(number * SLOTS + slot);
  })();
  turn(store, () => store.enqueue(HOST, { url: urlOf(key), depth: 1 }, null));
  const id = db.prepare('SELECT id FROM urls WHERE key = ?').pluck().get(key);
  assert.equal(id, number * SLOTS);
  assert.equal(
    turn(store, () => store.enqueue(HOST, { url: urlOf(key), depth: 1 }, null)),
    'known',
  );
});

test('slots: a host that is deleted and found again starts without its previous rows', () => {
  const { db, store } = open();
  const insert = (referrer?: string) => {
    const from = referrer === undefined ? {} : { referrer };
    return turn(store, () => store.enqueue(HOST, { url: urlOf(second), depth: 1, ...from }, null));
  };
  turn(store, () => store.enqueue(HOST, { url: urlOf(first), depth: 0 }, null));
  assert.equal(insert(), 'new');
  turn(store, () => store.deleteHost(HOST));
  assert.equal(insert(urlOf(first)), 'new');
  const rows = db.prepare('SELECT url, referrer FROM frontier').all();
  assert.deepEqual(rows, [{ url: urlOf(second), referrer: urlOf(first) }]);
});

test('words: types and digests are read back unchanged, even beyond the numbered words', () => {
  const { db, store } = open();
  const types = [...Array(4200).keys()].map((n) => (n % 2 === 0 ? `${n}` : `text/x-${n}`));
  types.push('x'.repeat(500), types[3]!, '');
  const digests = [`sha256:${'ab'.repeat(32)}`, `sha256:${'AB'.repeat(32)}`, '12', 'sha256:1'];
  const told = types.map((contentType, n) => ({ contentType, digest: digests[n % 4]! }));
  turn(store, () => {
    told.forEach((page, n) => {
      const url = urlOf(`h/${n}`);
      store.enqueue(HOST, { url, depth: 0 }, null);
      store.recordPage(store.host(HOST).number, pageOf(url, page));
      store.settle(HOST, url);
    });
  });
  assert.equal(db.prepare('SELECT count(*) FROM words').pluck().get(), 4096);
  const pages = db.prepare(
    `SELECT content_type AS contentType, digest FROM pages
     ORDER BY CAST(substr(url, length('http://${HOST}/') + 1) AS INTEGER)`,
  );
  assert.deepEqual(pages.all(), told);
  const tails = { ...TAIL_BOUNDS, rowsPerTurn: types.length + 1 };
  const again = new SqliteStore(db, { durability: 'process', hostDelayMs: 0, tails });
  const { events } = again.rowEvents(HOST, 0, 1e6, NOW);
  const sent = events.flatMap((event) => {
    if (event.kind !== 'done' || !event.page) return [];
    return [{ contentType: event.page.contentType, digest: event.page.digest }];
  });
  assert.deepEqual(sent, told);
});
