// Counts the rows that an owner reads for a host of very many URLs whose copy begins late.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Copy,
  follow,
  HOST,
  OTHER,
  OTHER_WORK,
  Owner,
  PER_MESSAGE,
  TAILS,
  URLS,
} from './event-tails-late-copy-stage.ts';

/** One pass over the rows, one row per event, and some work for each message. */
const ALL_ROWS_MAX = URLS + 2 * URLS + ((2 * URLS) / PER_MESSAGE + 100) * OTHER_WORK;

test('late copy: costs one pass over the rows of its host, in slices', () => {
  const owner = new Owner(URLS);
  const first = new Copy(owner);
  const found = { count: 0 };
  const rows = follow(owner, first, found);
  assert.ok(rows <= ALL_ROWS_MAX, `${rows} of ${ALL_ROWS_MAX} rows`);
  assert.equal(first.events, 1 + 2 * URLS + found.count);
  // New events are in memory.
  owner.find(HOST, '/last');
  const one = owner.rowsOf(() => first.step());
  assert.ok(first.isWhole && one <= OTHER_WORK, `${one} rows for one event`);

  const second = new Copy(owner);
  const again = follow(owner, second, found);
  assert.ok(again <= ALL_ROWS_MAX, `${again} of ${ALL_ROWS_MAX} rows for the next copy`);
  assert.equal(second.events, 2 + 2 * URLS + found.count);
});

test('late copy: two copies are served from one pass, each from its own position', () => {
  const owner = new Owner(URLS);
  const [ahead, behind] = [new Copy(owner), new Copy(owner)];
  const rows = owner.rowsOf(() => {
    while (!ahead.isWhole) ahead.step();
    owner.turn(() => owner.store.trimRowEvents(HOST, behind.mark));
    while (!behind.isWhole) behind.step();
  });
  assert.equal(ahead.events, 2 * URLS + 1);
  assert.equal(behind.events, 2 * URLS + 1);
  assert.ok(rows <= URLS + 2 * (ALL_ROWS_MAX - URLS), `${rows} rows`);
});

test('late copy: a copy behind the trimmed events gets everything in another pass', () => {
  const owner = new Owner(URLS);
  const first = new Copy(owner);
  for (let i = 0; i < 60; i++) first.step();
  owner.turn(() => owner.store.trimRowEvents(HOST, first.mark));
  const second = new Copy(owner);
  while (!second.isWhole) second.step();
  while (!first.isWhole) first.step();
  assert.deepEqual([first.events, second.events], [2 * URLS + 1, 2 * URLS + 1]);
});

test('late copy: after a restart in the middle a copy continues at its mark, with one more pass', () => {
  const owner = new Owner(URLS);
  const copy = new Copy(owner);
  for (let i = 0; i < 60; i++) copy.step();
  const { events } = copy;
  assert.ok(events > 0);
  owner.restart();
  const rows = follow(owner, copy, { count: 0 });
  assert.ok(rows <= ALL_ROWS_MAX - events, `${rows} rows`);
});

test('late copy: a complete copy costs no pass after a restart or after its events left memory', () => {
  const owner = new Owner(URLS);
  const copy = new Copy(owner);
  follow(owner, copy, { count: 0 });
  owner.restart();
  owner.find(HOST, '/after-the-restart');
  const restarted = owner.rowsOf(() => copy.step());
  assert.ok(copy.isWhole && restarted <= OTHER_WORK, `${restarted} rows after the restart`);
  for (let i = 0; i <= TAILS.atHand; i++) owner.find(OTHER, `/many/${i}`);
  owner.find(HOST, '/after-the-drop');
  const dropped = owner.rowsOf(() => copy.step());
  assert.ok(copy.isWhole && dropped <= OTHER_WORK, `${dropped} rows after the drop`);
});

test('late copy: a host that backs off after a restart costs no pass', () => {
  const owner = new Owner(URLS);
  const copy = new Copy(owner);
  follow(owner, copy, { count: 0 });
  owner.restart();
  owner.turn(() => {
    const record = owner.store.host(HOST);
    owner.store.saveHost({ ...record, notBefore: record.notBefore + 60_000 }, null);
  });
  assert.equal(copy.isWhole, false);
  const rows = owner.rowsOf(() => copy.step());
  assert.ok(copy.isWhole && rows <= OTHER_WORK, `${rows} rows`);
});

test('late copy: an unused backlog is dropped for another host, and appended events count towards the limit', () => {
  const tails = { ...TAILS, atHand: 10, tailEvents: 5, backlogEvents: 100 };
  const owner = new Owner(10, tails);
  const found = (host: string, count: number) => {
    for (let i = 0; i < count; i++) owner.find(host, `/more/${i}`);
  };
  const ask = (host: string, at: number) =>
    owner.turn(() => owner.store.rowEvents(host, 0, 200, at)).events.length;
  // 30 of 100 events are used, one of them appended, so there is room for the other host.
  found(OTHER, 50);
  assert.ok(ask(HOST, 0) > 0);
  owner.find(HOST, '/appended');
  assert.equal(ask(OTHER, 1), 51);
  // Now there is no room for a third host.
  found(HOST, 200);
  assert.ok(ask(HOST, 2) > 0);
  found('c.test', 20);
  owner.restart();
  assert.ok(ask(HOST, 3) > 0);
  assert.equal(ask('c.test', 3 + tails.unusedMs), 0);
  assert.equal(ask('c.test', 4 + tails.unusedMs), 20);
});
