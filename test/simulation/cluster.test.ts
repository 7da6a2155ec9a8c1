// Whole clusters on virtual time: joins, completion and faults.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Cluster, SUSPECT_MS } from './cluster.ts';
import { assertAllFetchedOnce, cluster, ends } from './cluster-stage.ts';

describe('a cluster without faults', () => {
  for (const n of [1, 2, 4, 8]) {
    it(`a cluster of ${n} fetches every page once, politely, and ends with 0`, () => {
      const ids = Array.from({ length: n }, (_, i) => `a${i + 1}`);
      const c = cluster(ids);
      c.startAll();
      c.runToEnd();
      assertAllFetchedOnce(c, 96);
      assert.deepEqual(ends(c), Object.fromEntries(ids.map((id) => [id, 0])));
    });
  }

  it('starts fetching only after all configured agents have met', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a1');
    c.run(SUSPECT_MS / 2);
    assert.equal(c.log.length, 0);
    c.start('a2');
    c.start('a3');
    c.run(SUSPECT_MS / 4);
    assert.ok(c.log.length > 0);
    c.runToEnd();
    assertAllFetchedOnce(c, 96);
  });

  it('starts without a configured agent that sends nothing for suspectAfterMs', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.start('a1');
    c.start('a2');
    c.run(SUSPECT_MS * 0.9);
    assert.equal(c.log.length, 0);
    c.runToEnd();
    assertAllFetchedOnce(c, 96);
  });

  it('completes at once if no page is reachable', () => {
    const c = new Cluster({ ids: ['a1', 'a2'], web: new Map(), seeds: [] });
    c.startAll();
    c.runToEnd(3 * SUSPECT_MS);
    assert.deepEqual(ends(c), { a1: 0, a2: 0 });
  });
});

describe('a cluster with faults', () => {
  it('takes over the hosts of a killed agent, stays polite and ends with 0', () => {
    const c = cluster(['a1', 'a2', 'a3'], 30, 8);
    c.startAll();
    c.runUntil('a third is fetched', () => c.log.length >= 80);
    c.kill('a2');
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(ends(c), { a1: 0, a2: undefined, a3: 0 });
  });

  it('a stalled agent stops fetching, takes a new incarnation, and no request is impolite', () => {
    const c = cluster(['a1', 'a2', 'a3'], 40, 10);
    c.startAll();
    c.runUntil('a fifth is fetched', () => c.log.length >= 80);
    const before = c.agents.get('a2')!.core.snapshot(c.instant('a2')).incarnation;
    c.stall('a2', 3 * SUSPECT_MS);
    c.run(3 * SUSPECT_MS + 200);
    assert.ok(c.agents.get('a2')!.core.snapshot(c.instant('a2')).incarnation > before);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.deepEqual(ends(c), { a1: 0, a2: 0, a3: 0 });
  });

  it('an agent that joins late receives its hosts by list and yield, politely', () => {
    const c = cluster(['a1', 'a2', 'a3'], 40, 10);
    c.start('a1');
    c.start('a2');
    c.runUntil('a fifth is fetched', () => c.log.length >= 80);
    c.start('a3');
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.ok(c.log.some((v) => v.by === 'a3'));
    assert.equal(c.fetched().size, 400);
  });

  it('a leaving agent hands over all hosts and ends with 0; no page is lost', () => {
    const c = cluster(['a1', 'a2', 'a3'], 40, 10);
    c.startAll();
    c.runUntil('a fifth is fetched', () => c.log.length >= 80);
    c.agents.get('a2')!.core.leave(c.instant('a2'));
    c.runUntil('a2 has left', () => c.agents.get('a2')!.end !== null, 5000);
    assert.equal(c.agents.get('a2')!.end!.code, 0);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.equal(c.fetched().size, 400);
  });

  it('agents restarted on their data resume under a higher incarnation', () => {
    const c = cluster(['a1', 'a2'], 20, 8);
    c.startAll();
    c.runUntil('half is fetched', () => c.log.length >= 80);
    for (const id of ['a1', 'a2']) c.kill(id);
    c.run(50);
    for (const id of ['a1', 'a2']) c.start(id);
    c.runToEnd();
    assert.deepEqual(c.impolite(), []);
    assert.equal(c.fetched().size, 160);
    const twice = [...c.fetched().values()].filter((n) => n > 1).length;
    assert.ok(twice <= 8, `${twice} pages fetched twice: more than were in flight`);
  });

  it('a complete agent takes over nothing from a member that ended unheard', () => {
    const c = cluster(['a1', 'a2', 'a3']);
    c.startAll();
    c.lose = (from, to, message) => from === 'a2' && to === 'a1' && message.type === 'COMPLETE';
    c.runUntil('a2 has ended', () => c.agents.get('a2')!.end !== null);
    assert.equal(c.agents.get('a1')!.end, null);
    c.runToEnd(2 * SUSPECT_MS);
    const kinds = c.snapshot('a1').recent.map(({ kind }) => kind);
    assert.deepEqual(ends(c), { a1: 0, a2: 0, a3: 0 });
    assert.ok(kinds.includes('complete'));
    assert.deepEqual(
      kinds.filter((kind) => kind === 'suspect' || kind === 'takeover'),
      [],
    );
  });

  it('after a partition both sides merge under new incarnations and end with 0', () => {
    const c = cluster(['a1', 'a2'], 60, 40);
    c.startAll();
    c.runUntil('some are fetched', () => c.log.length >= 40);
    c.network.cut('a1', 'a2');
    c.network.cut('a2', 'a1');
    c.run(2 * SUSPECT_MS);
    c.network.heal();
    c.runToEnd();
    assert.equal(c.fetched().size, 2400);
    assert.deepEqual(ends(c), { a1: 0, a2: 0 });
  });

  it('refuses a joining agent whose settings differ, and names the key', () => {
    const c = cluster(['a1', 'a2'], 10, 8, {
      settings: (id: string) => (id === 'a2' ? { fingerprint: 'b', fingerprintHash: 'b' } : {}),
    });
    c.start('a1');
    c.run(SUSPECT_MS * 1.2);
    c.start('a2');
    c.run(200);
    assert.equal(c.agents.get('a2')!.end?.code, 5);
    assert.match(c.agents.get('a2')!.end?.reason ?? '', /fingerprint is b here and same there/);
    c.runToEnd();
    assert.deepEqual(ends(c), { a1: 0, a2: 5 });
  });

  it('after a stop the agents settle and end with 11, and the next start resumes the crawl', () => {
    const c = cluster(['a1', 'a2'], 20, 8);
    c.startAll();
    c.runUntil('half is fetched', () => c.log.length >= 80);
    for (const a of c.living()) a.core.stop(c.instant(a.id));
    c.runToEnd(5000);
    assert.deepEqual(ends(c), { a1: 11, a2: 11 });
    for (const id of ['a1', 'a2']) c.start(id);
    c.runToEnd();
    assertAllFetchedOnce(c, 160);
  });
});

describe('robots.txt', () => {
  const askedTwice = (c: Cluster): string[] => {
    const whole = c.log.filter(({ url, whole }) => whole && url.endsWith('/robots.txt'));
    const urls = whole.map(({ url }) => url);
    return urls.filter((url, k) => urls.indexOf(url) < k);
  };

  it('is not requested again by a joining agent, nor by the successors of a leaving one', () => {
    const c = cluster(['a1', 'a2', 'a3'], 12, 12);
    c.start('a1');
    c.start('a2');
    c.runUntil('two crawl', () => c.log.length > 40);
    c.start('a3');
    c.runUntil('three crawl', () => c.log.some(({ by }) => by === 'a3'));
    const { agents, now } = c;
    agents.get('a1')!.inputs.push(() => agents.get('a1')!.core.leave(c.instant('a1')));
    c.runUntil('it has left', () => agents.get('a1')!.end !== null);
    assert.ok(now < c.now);
    c.runToEnd();
    assert.equal(c.fetched().size, 144);
    assert.deepEqual(askedTwice(c), []);
  });

  it('is not requested again by the successors of a dead agent if the answer was copied', () => {
    const c = cluster(['a1', 'a2', 'a3'], 12, 12);
    c.startAll();
    c.runUntil('the crawl is running', () => c.log.length >= 60);
    c.run(SUSPECT_MS / 4);
    c.kill('a2');
    const at = c.log.length;
    c.runToEnd();
    assert.equal(c.fetched().size, 144);
    const successors = c.log.slice(at).filter(({ host }) => {
      return c.log.slice(0, at).some((visit) => visit.by === 'a2' && visit.host === host);
    });
    assert.ok(successors.length > 0);
    assert.deepEqual(askedTwice(c), []);
  });
});
