// The slow tests of the parse lanes; the others are in `test/unit/parse/parse-lanes.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { large, withLanes } from '../parse-lanes-stage.ts';

test('parse lanes: large pages of several hosts that never end do not delay other large pages', () =>
  withLanes(async (lanes) => {
    const urls = [1, 2, 3].map((n) => `http://hostile-${n}.test/hang`);
    const hang = Promise.allSettled(urls.map((url) => lanes.parse(large(url), 0)));
    for (const n of [1, 2, 3]) {
      const { links } = await lanes.parse(large(`http://calm.test/${n}`), 0);
      assert.equal(links.length, 1);
    }
    await lanes.close();
    for (const { status } of await hang) assert.equal(status, 'rejected');
  }));

test('parse lanes: a large page that takes long is still parsed', () =>
  withLanes(async (lanes) => {
    assert.equal((await lanes.parse(large('http://a.test/busy'), 0)).links.length, 1);
  }));
