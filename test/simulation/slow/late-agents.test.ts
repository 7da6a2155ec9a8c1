// Under `majority`, agents that were away at the end of the crawl: what they do alone, and how they
// end when agents that saw the end are started again.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../../agent/core/protocol/messages.ts';
import { cluster, endCodes, sentOf } from '../case-kit.ts';
import { type Cluster, SUSPECT_MS } from '../cluster.ts';
import { block, give } from '../orders-stage.ts';

const IDS = ['a1', 'a2', 'a3', 'a4', 'a5'];
/** The first seed, and an agent that has its host. */
const SEED_HOST = 'h0.test';
const UNBLOCK = { ...block('h1.test'), value: null };

function five(): Cluster {
  return cluster(IDS, { quorum: 'majority' }, 20, 10);
}

const isOver = (c: Cluster, ids: readonly AgentId[]) =>
  ids.every((id) => c.agents.get(id)!.end !== null);

/** All others crawl to the end after `late` were killed. Returns the others. */
function endWithout(c: Cluster, late: readonly AgentId[], fetched: number): readonly AgentId[] {
  const others = IDS.filter((id) => !late.includes(id));
  c.startAll();
  c.runUntil('the crawl is running', () => c.fetched().size >= fetched);
  for (const id of late) c.kill(id);
  c.runUntil('the others have ended', () => isOver(c, others));
  return others;
}

/** Starts a late agent, which must wait without requests. */
function startLate(c: Cluster, id: AgentId): void {
  const before = c.log.length;
  c.start(id);
  c.run(20 * SUSPECT_MS);
  assert.equal(c.agents.get(id)!.end, null);
  assert.equal(c.log.length, before, 'an agent without a majority sends no requests');
  assert.match(c.snapshot(id).waits!, /^has no majority: 1 of 5 .* start at least 2 of /);
}

describe('agents that were away at the end, under majority', () => {
  it('one without work ends when a single agent that saw the end is started again', () => {
    const c = five();
    const late = c.order(SEED_HOST, IDS)[0]!;
    const [first, ...others] = endWithout(c, [late], 200);
    startLate(c, late);
    const requests = c.log.length;
    c.start(first!, [first!, ...others]);
    c.runToEnd(10 * SUSPECT_MS);
    assert.equal(c.log.length, requests);
    assert.deepEqual([...c.agents.get(late)!.end!.members!], IDS);
  });

  it('one with a queue ends when as many are started again as a majority needs', () => {
    const c = five();
    const others = endWithout(c, ['a5'], 60);
    assert.equal(c.fetched().size, 200);
    startLate(c, 'a5');
    const requests = c.log.length;
    c.start('a1', others);
    c.run(20 * SUSPECT_MS);
    assert.equal(isOver(c, ['a1']), false, 'it may not have all URLs of the late agent');
    assert.equal(c.log.length, requests);
    c.start('a2', others);
    c.runToEnd();
    assert.deepEqual([c.log.length, ...endCodes(c)], [requests, 0, 0, 0, 0, 0]);
  });

  it('a URL that only the late agent has is crawled before any of them ends', () => {
    const c = five();
    const others = endWithout(c, ['a5'], 60);
    startLate(c, 'a5');
    const a5 = c.agents.get('a5')!;
    const more = { url: 'http://more.test/', fetchUrl: 'http://more.test/', depth: 0 };
    a5.inputs.push(() => a5.core.operator.seed([more as never], c.instant('a5'), () => {}));
    for (const id of others) c.start(id, others);
    c.runToEnd();
    assert.ok(c.fetched().has('http://more.test/'));
  });

  it('an agent that saw the end and meets nobody ends without a request', () => {
    const c = five();
    const others = endWithout(c, ['a5'], 60);
    const requests = c.log.length;
    c.start('a1', others);
    c.runUntil('it ends', () => isOver(c, ['a1']), 2 * SUSPECT_MS);
    assert.equal(c.log.length, requests);
    assert.deepEqual(c.agents.get('a1')!.end!.members, others);
  });

  it('an unblock after the end needs a majority: hosts of the others may be reopened', () => {
    const c = five();
    const others = endWithout(c, ['a5'], 60);
    c.start('a1', others);
    const a1 = c.agents.get('a1')!;
    for (const what of [block('h1.test'), UNBLOCK]) {
      a1.inputs.push(() => a1.core.operator.give(what, c.instant('a1'), () => {}));
    }
    c.run(20 * SUSPECT_MS);
    assert.equal(isOver(c, ['a1']), false);
  });

  it('an unblock at a late agent reopens the crawl for one that has found it complete', () => {
    const c = five();
    const late = c.order(SEED_HOST, IDS)[0]!;
    const [first, ...others] = endWithout(c, [late], 200);
    startLate(c, late);
    c.start(first!, [first!, ...others]);
    const isComplete = () => c.snapshot(first!).lifecycle === 'complete';
    c.runUntil('it has found the crawl complete', isComplete);
    assert.equal(c.snapshot(late).lifecycle, 'crawling');
    for (const what of [block('h1.test'), UNBLOCK]) {
      assert.equal(give(c, late, what)[0]?.ok, true);
    }
    c.run(20 * SUSPECT_MS);
    assert.deepEqual([isOver(c, [first!]), isOver(c, [late])], [false, false]);
  });

  it('COMPLETE does not end one with a queue if more were away than have copies', () => {
    const c = five();
    c.startAll();
    c.runUntil('the crawl is running', () => c.log.length >= 60);
    c.kill('a4');
    c.kill('a5');
    c.lose = (_, __, { type }) => type === 'COMPLETE' && c.living().length < 4;
    c.runUntil('complete', () => sentOf(c, 'COMPLETE').length > 0);
    c.start('a5');
    c.runToEnd();
    assert.equal(c.agents.get('a5')!.end!.reason, 'the crawl is complete');
    assert.equal(c.fetched().size, 200);
  });
});
