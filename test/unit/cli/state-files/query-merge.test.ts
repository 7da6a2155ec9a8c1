import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Claim,
  mergeClaims,
  mergeHosts,
} from '../../../../agent/cli/state-files/query-merge.ts';

function claim(part: Partial<Claim>): Claim {
  return {
    agent: 'a1',
    url: 'http://h/',
    round: 0,
    state: 'queued',
    fetchedAt: null,
    depth: 0,
    attempts: 0,
    referrer: null,
    row: [],
    ...part,
  };
}

test('merge: a finished URL wins over a queued one, whichever agent has it', () => {
  const queued = claim({ agent: 'a1', state: 'queued' });
  for (const state of ['response', 'failed', 'skipped'] as const) {
    assert.equal(mergeClaims([queued, claim({ agent: 'a2', state })]).state, state);
  }
});

test('merge: a response wins over a failure and a failure over a skip, even if later', () => {
  const skipped = claim({ agent: 'a1', state: 'skipped' });
  const failed = claim({ agent: 'a2', state: 'failed', fetchedAt: 10 });
  const response = claim({ agent: 'a3', state: 'response', fetchedAt: 99 });
  assert.equal(mergeClaims([skipped, failed, response]).agent, 'a3');
  assert.equal(mergeClaims([skipped, failed]).agent, 'a2');
});

test('merge: of two claims in the same state, the current owner wins, even if later', () => {
  const dead = claim({ agent: 'a1', state: 'response', fetchedAt: 10 });
  const successor = claim({ agent: 'a2', state: 'response', fetchedAt: 20 });
  assert.equal(mergeClaims([dead, successor], 'a2').agent, 'a2');
  assert.equal(mergeClaims([successor, dead], 'a1').agent, 'a1');
  const failed = claim({ agent: 'a2', state: 'failed', fetchedAt: 5 });
  assert.equal(mergeClaims([dead, failed], 'a2').agent, 'a1', 'the response wins');
});

test('merge: without an owner, the earlier response wins, then the smaller agent id', () => {
  const late = claim({ agent: 'a1', state: 'response', fetchedAt: 20 });
  const early = claim({ agent: 'a3', state: 'response', fetchedAt: 10 });
  const same = claim({ agent: 'a2', state: 'response', fetchedAt: 10 });
  assert.equal(mergeClaims([late, early]).agent, 'a3');
  assert.equal(mergeClaims([late, early, same]).agent, 'a2');
});

test('merge: takes the smallest depth and referrer and the most attempts of all claims', () => {
  const winner = claim({ state: 'response', fetchedAt: 1, depth: 5, attempts: 1, referrer: 'm' });
  const other = claim({ agent: 'a2', depth: 2, attempts: 3, referrer: 'b' });
  const merged = mergeClaims([winner, other]);
  assert.deepEqual([merged.depth, merged.attempts, merged.referrer], [2, 3, 'b']);
  const seed = claim({ agent: 'a3', depth: 0, referrer: null });
  assert.equal(mergeClaims([winner, seed]).referrer, null);
});

test('merge: is idempotent, commutative and associative for any owner', () => {
  const claims = fc.array(
    fc.record(
      {
        agent: fc.constantFrom('a1', 'a2', 'a3'),
        url: fc.constant('http://h/'),
        state: fc.constantFrom('response', 'failed', 'skipped', 'queued'),
        round: fc.constantFrom(0, 0, 7),
        fetchedAt: fc.option(fc.integer({ min: 1, max: 3 })),
        depth: fc.integer({ min: 0, max: 3 }),
        attempts: fc.integer({ min: 0, max: 3 }),
        referrer: fc.option(fc.constantFrom('a', 'b')),
        row: fc.constant([]),
      },
      { noNullPrototype: true },
    ),
    { minLength: 1, maxLength: 5 },
  );
  const owners = fc.constantFrom(undefined, 'a1', 'a2', 'a3', 'a9');
  fc.assert(
    fc.property(claims, owners, fc.nat(), (list: Claim[], owner, at) => {
      const merge = (...some: Claim[]) => mergeClaims(some, owner);
      const merged = merge(...list);
      assert.deepEqual(merge(...[...list].reverse()), merged);
      assert.deepEqual(merge(...list, ...list), merged);
      assert.deepEqual(merge(merged, merged), merged);
      const [left, right] = [list.slice(0, at % list.length), list.slice(at % list.length)];
      if (left.length === 0) return;
      assert.deepEqual(merge(merge(...left), ...right), merged);
      assert.deepEqual(merge(...left, merge(...right)), merged);
    }),
  );
});

test('merge: a host in two files counts merged URLs, and takes the row of its owner', () => {
  const dead = { agent: 'a1', host: 'h', ip: '1.1.1.1', last_fetch_at: 10, out_of_scope: 7 };
  const successor = { agent: 'a2', host: 'h', ip: '2.2.2.2', last_fetch_at: 20, out_of_scope: 3 };
  const rows = [
    { ...dead, pages_done: 4, pages_queued: 9, next_fetch_at: 11, state: 'visiting' },
    { ...successor, pages_done: 6, pages_queued: 0, next_fetch_at: null, state: 'done' },
  ];
  assert.deepEqual(mergeHosts(rows, { done: 8, queued: 0 }), {
    ...successor,
    pages_done: 8,
    pages_queued: 0,
    out_of_scope: 7,
    next_fetch_at: null,
    state: 'done',
  });
  assert.equal(mergeHosts(rows, { done: 6, queued: 3 }).state, 'waiting');
  assert.equal(mergeHosts(rows, { done: 8, queued: 0 }, 'a1').agent, 'a1');
  assert.equal(mergeHosts(rows, { done: 8, queued: 0 }, 'a9').agent, 'a2', 'the last visitor');
});
