// The page limit of agents that know only their neighbours.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cluster, endCodes, sentOf } from '../case-kit.ts';

const IDS = Array.from({ length: 12 }, (_, n) => `a${n}`);
const kademlia = { contacts: ['a0', 'a1'], ids: 1, neighbourhood: 4, bucketSize: 4 };
const WEB = 24 * 4;

function limited(pagesMax: number) {
  const c = cluster(IDS, { kademlia, backups: 1, pagesMax }, 24, 4);
  c.startAll();
  return c;
}

describe('the page limit in a partial view', () => {
  it('is met exactly, and the crawl completes', () => {
    for (const pagesMax of [1, 40, 500]) {
      const c = limited(pagesMax);
      c.runToEnd();
      assert.equal(c.fetched().size, Math.min(pagesMax, WEB), `limit ${pagesMax}`);
      assert.deepEqual(new Set(endCodes(c)), new Set([0]));
    }
  });

  it('one agent grants all tokens, also to agents that it does not watch', () => {
    const c = limited(40);
    c.runUntil('most are fetched', () => c.fetched().size > 30, 60_000);
    const given = sentOf(c, 'PAGES_GRANT').filter(
      ({ message }) => message.type === 'PAGES_GRANT' && message.granted > 0,
    );
    const owners = new Set(given.map(({ from }) => from));
    assert.equal(owners.size, 1);
    const [owner] = owners;
    const watched = new Set(c.snapshot(owner!).members.map(({ id }) => id));
    const far = given.filter(({ to }) => to !== owner && !watched.has(to));
    assert.ok(far.length > 0, 'the owner watches all others: the view is not partial');
  });

  it('holds although the granting agent is killed', () => {
    const c = limited(60);
    c.runUntil('a third is fetched', () => c.fetched().size > 20, 60_000);
    const { from: owner } = sentOf(c, 'PAGES_GRANT').findLast(
      ({ message }) => message.type === 'PAGES_GRANT' && message.granted > 0,
    )!;
    c.kill(owner);
    c.runToEnd();
    const { size } = c.fetched();
    assert.ok(size >= 60 && size <= 60 + 2 * 4, `${size} pages`);
  });
});
