// The filter of repeated URLs never reports an unseen URL as seen, drops the oldest URL of a bucket
// first, and never exceeds its size.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SeenFilter } from '../../../../agent/core/exchange/seen-filter.ts';

const urlOf = (n: number) => `http://host-${n % 7}.test/page/${n}`;

function filled(places: number, urls: number, key = 1): SeenFilter {
  const filter = new SeenFilter(places, key);
  for (let n = 0; n < urls; n++) filter.add(urlOf(n), false);
  filter.committed();
  return filter;
}

const known = (filter: SeenFilter, from: number, to: number) => {
  let count = 0;
  for (let n = from; n < to; n++) if (filter.has(urlOf(n), false)) count++;
  return count;
};

describe('filter of repeated URLs', () => {
  it('keeps nearly all URLs if they fill half of its places', () => {
    const filter = filled(2 ** 17, 2 ** 16);
    assert.ok(known(filter, 0, 2 ** 16) > 0.95 * 2 ** 16);
  });

  it('keeps nearly all of the newest URLs, up to a quarter of its places', () => {
    const filter = filled(2 ** 14, 100_000);
    assert.ok(known(filter, 100_000 - 2 ** 12, 100_000) > 0.95 * 2 ** 12);
  });

  it('never reports an unseen URL as seen', () => {
    const filter = filled(2 ** 14, 50_000);
    assert.equal(known(filter, 50_000, 250_000), 0);
  });

  it('keeps at most as many URLs as places, the newest of each bucket', () => {
    const filter = filled(64, 5_000);
    assert.equal(known(filter, 0, 5_000), 64);
    assert.equal(known(filter, 0, 4_000), 0);
  });

  it('with one place, keeps the last URL', () => {
    assert.deepEqual([known(filled(1, 3), 0, 2), known(filled(1, 3), 2, 3)], [0, 1]);
  });

  it('the key determines which URLs share a bucket', () => {
    const kept = (key: number) => {
      const filter = filled(64, 500, key);
      return Array.from({ length: 500 }, (_, n) => filter.has(urlOf(n), false));
    };
    assert.deepEqual(kept(1), kept(1));
    assert.notDeepEqual(kept(1), kept(2));
  });

  it('a URL that was seen at a depth counts as unseen at the root', () => {
    const filter = filled(64, 1);
    assert.deepEqual([filter.has(urlOf(0), false), filter.has(urlOf(0), true)], [true, false]);
    filter.add(urlOf(0), true);
    assert.equal(filter.has(urlOf(0), true), true);
    filter.committed();
    filter.add(urlOf(0), false);
    filter.committed();
    assert.equal(filter.has(urlOf(0), true), true);
  });

  it('a view change clears all URLs, committed or not', () => {
    const filter = filled(64, 1);
    filter.add(urlOf(1), false);
    assert.equal(known(filter, 0, 2), 2);
    filter.clear();
    assert.equal(known(filter, 0, 2), 0);
  });

  it('agrees with a set of all texts', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 40 }), (texts) => {
        const filter = new SeenFilter(2 ** 12, 7);
        const all = new Set<string>();
        for (const text of texts) {
          assert.equal(filter.has(text, false), all.has(text));
          filter.add(text, false);
          filter.committed();
          all.add(text);
        }
      }),
    );
  });
});
