// Directives that change the share of an agent while it runs. Hosts move as the preference lists say,
// no page is requested twice, and an agent that was down obeys after its start.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { twice } from '../../checkers/coverage.ts';
import { capacity, drain, kademlia, NINE, ownedBy, untilSettled } from '../capacity-stage.ts';
import { crawling, endCodes, rejoinsOf } from '../case-kit.ts';
import { SUSPECT_MS } from '../cluster.ts';
import { give } from '../orders-stage.ts';

const IDS = ['a1', 'a2', 'a3'];

describe('a drained agent in a partial view', () => {
  it('drain: in partial views hosts move away, also from several agents at once, and back', () => {
    const c = crawling(NINE, { kademlia, delayMs: 300 });
    c.runUntil('all have joined', () => NINE.every((id) => c.snapshot(id).joined));
    // The agent that is asked does not know all others.
    const drained = ['a1', 'a3', 'a4', 'a7'];
    const [first, ...others] = drained as [string, ...string[]];
    for (const id of drained) assert.equal(give(c, 'a9', drain(id))[0]?.ok, true);
    untilSettled(c, (id) => !drained.includes(id) || c.snapshot(id).capacity === 0);
    for (const id of drained) assert.equal(ownedBy(c, id), 0);
    const since = c.now;
    c.kill(first);
    c.run(3 * SUSPECT_MS);
    give(c, 'a9', drain(first, null));
    c.start(first);
    untilSettled(c, (id) => c.snapshot(id).capacity === (others.includes(id) ? 0 : 1));
    assert.ok(ownedBy(c, first) > 0);
    assert.ok(c.log.every(({ by, start }) => start <= since || !others.includes(by)));
    c.runToEnd(200_000);
    assert.deepEqual(new Set(endCodes(c)), new Set([0]));
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(twice(c.log), []);
    assert.deepEqual(c.impolite(), []);
  });

  it('drain: of the last agent that takes hosts is refused in a partial view, too', () => {
    const c = crawling(NINE, { kademlia, delayMs: 300 });
    c.runUntil('all have joined', () => NINE.every((id) => c.snapshot(id).joined));
    const [last, ...others] = NINE as [string, ...string[]];
    for (const id of others) {
      assert.equal(give(c, 'a9', drain(id))[0]?.ok, true);
      untilSettled(c, (one) => one !== id || c.snapshot(id).capacity === 0);
    }
    for (const by of NINE) {
      const [told] = give(c, by, drain(last));
      assert.ok(told && !told.ok && /a1 is the last agent that takes hosts/.test(told.why), by);
    }
    c.runToEnd(200_000);
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(twice(c.log), []);
  });
});

describe('the capacity of a running agent', () => {
  it('capacity: hosts move to an agent with a higher one, and back, without a second request', () => {
    const c = crawling(IDS);
    const before = ownedBy(c, 'a1');
    give(c, 'a2', capacity('a1', 6));
    untilSettled(c, (id) => id !== 'a1' || c.snapshot(id).capacity === 6);
    assert.deepEqual(rejoinsOf(c, 'a1'), ['capacity']);
    const between = ownedBy(c, 'a1');
    assert.ok(between > 1.5 * before, `${before} and then ${between} hosts`);
    give(c, 'a1', capacity('a1', null));
    untilSettled(c, (id) => c.snapshot(id).capacity === 1);
    assert.ok(ownedBy(c, 'a1') < between / 1.5);
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(twice(c.log), []);
    assert.deepEqual(c.impolite(), []);
  });

  it('capacity: an agent that was down when it was given takes it after its start, and keeps it', () => {
    const c = crawling(IDS);
    c.kill('a3');
    c.runUntil('a3 is removed', () => c.snapshot('a1').members.length === 1, 5 * SUSPECT_MS);
    give(c, 'a1', capacity('a3', 5));
    for (const _ of [1, 2]) {
      c.start('a3');
      untilSettled(c, (id) => id !== 'a3' || c.snapshot(id).capacity === 5);
      const seen = c.snapshot('a2').members.find(({ id }) => id === 'a3');
      assert.equal(seen?.capacity, 5);
      c.kill('a3');
    }
    c.start('a3');
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(c.impolite(), []);
  });

  it('capacity: an agent finishes its open requests before it joins again', () => {
    const c = crawling(IDS, { requestMs: () => 400 });
    c.runUntil('a1 has open requests', () => c.snapshot('a1').openRequests > 0);
    give(c, 'a1', capacity('a1', 3));
    const since = c.now;
    c.runUntil('a1 has joined again', () => c.snapshot('a1').capacity === 3);
    const open = c.log.filter(({ by, start, end }) => by === 'a1' && start <= since && end > since);
    assert.ok(open.length > 0);
    assert.ok(open.every(({ whole, end }) => whole && end <= c.now));
    c.runToEnd();
    assert.deepEqual(twice(c.log), []);
  });

  it('capacity: changes in a partial view, too', () => {
    const c = crawling(NINE, { kademlia });
    c.runUntil('all have joined', () => NINE.every((id) => c.snapshot(id).joined));
    const before = ownedBy(c, 'a3');
    give(c, 'a9', capacity('a3', 6));
    untilSettled(c, (id) => id !== 'a3' || c.snapshot(id).capacity === 6);
    const between = ownedBy(c, 'a3');
    assert.ok(between > before, `${before} and then ${between} hosts`);
    give(c, 'a1', capacity('a3', null));
    untilSettled(c, (id) => c.snapshot(id).capacity === 1);
    assert.ok(ownedBy(c, 'a3') < between);
    c.runToEnd(200_000);
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(twice(c.log), []);
    assert.deepEqual(c.impolite(), []);
  });
});

describe('a drained agent', () => {
  it('drain: hands over all hosts, sends no requests, and takes hosts again after undrain', () => {
    const c = crawling(IDS);
    give(c, 'a2', drain('a1'));
    untilSettled(c, (id) => id !== 'a1' || c.snapshot(id).capacity === 0);
    assert.equal(ownedBy(c, 'a1'), 0);
    assert.equal(c.snapshot('a2').members.length, 2);
    const since = c.now;
    c.run(3 * SUSPECT_MS);
    assert.equal(c.log.filter(({ by, start }) => by === 'a1' && start > since).length, 0);
    give(c, 'a3', drain('a1', null));
    untilSettled(c, (id) => c.snapshot(id).capacity === 1);
    assert.ok(ownedBy(c, 'a1') > 0);
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(twice(c.log), []);
    assert.deepEqual(c.impolite(), []);
  });

  it('drain: the crawl completes while agents are drained', () => {
    const c = crawling(IDS);
    give(c, 'a1', drain('a1'));
    give(c, 'a1', drain('a2'));
    c.runToEnd();
    assert.deepEqual(endCodes(c), [0, 0, 0]);
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(twice(c.log), []);
  });

  it('drain: holds for an agent that was down, and for one that restarts', () => {
    const c = crawling(IDS);
    c.kill('a3');
    c.runUntil('a3 is removed', () => c.snapshot('a1').members.length === 1, 5 * SUSPECT_MS);
    give(c, 'a1', drain('a3'));
    for (const _ of [1, 2]) {
      c.start('a3');
      const since = c.now;
      untilSettled(c, (id) => id !== 'a3' || c.snapshot(id).capacity === 0);
      c.run(SUSPECT_MS);
      assert.equal(ownedBy(c, 'a3'), 0);
      assert.deepEqual(
        c.log.filter(({ by, start }) => by === 'a3' && start > since),
        [],
      );
      c.kill('a3');
    }
    c.start('a3');
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(c.impolite(), []);
  });

  it('drain: of the last agent is refused, whether it is asked itself or another', () => {
    const c = crawling(['a1', 'a2']);
    assert.equal(give(c, 'a1', drain('a2'))[0]?.ok, true);
    c.runUntil('a2 is drained', () => c.snapshot('a2').capacity === 0);
    for (const by of ['a1', 'a2']) {
      const [told] = give(c, by, drain('a1'));
      assert.ok(told && !told.ok && /a1 is the last agent that takes hosts/.test(told.why), by);
    }
    const [unknown] = give(c, 'a1', drain('a9'));
    assert.ok(unknown && !unknown.ok && /no agent has the identifier a9/.test(unknown.why));
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
  });

  it('drain: if all others die, the crawl waits and does not complete; the copies are complete', () => {
    const c = crawling(['a1', 'a2']);
    give(c, 'a1', drain('a2'));
    untilSettled(c, (id) => id !== 'a2' || c.snapshot(id).capacity === 0);
    c.run(SUSPECT_MS);
    c.kill('a1');
    c.wipe('a1');
    c.run(20 * SUSPECT_MS);
    assert.equal(c.snapshot('a2').lifecycle, 'crawling');
    assert.match(c.snapshot('a2').waits ?? '', /all agents in view are drained/);
    give(c, 'a2', drain('a2', null));
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(c.impolite(), []);
  });
});
