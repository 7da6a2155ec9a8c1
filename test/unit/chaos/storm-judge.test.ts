// How the requests of a storm are judged: as strictly as those of any crawl, except while a cut may
// have split the cluster.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { judgeStorm, type Span, straysAmong, type Visit } from '../../chaos/storm-judge.ts';
import type { Fault } from '../../chaos/storm-plan.ts';
import { judge } from '../../web/judge.ts';
import { SyntheticWeb } from '../../web/model.ts';
import type { LoggedRequest } from '../../web/request-log.ts';

const terms = { quorum: 'none', backups: 1, suspectAfterMs: 1000, delayMs: 100 } as const;
const majority = { ...terms, quorum: 'majority' } as const;

/** Cuts one agent off from all others for longer than a lease. */
const cut: Fault = {
  ...{ kind: 'cut', ids: ['a1'], others: ['a2', 'a3'], bridged: false, ways: 'both' },
  ...{ heldMsMax: 1000, forMs: 3000 },
};

function during(fromMs: number, toMs: number, fault: Fault = cut): Span {
  return { fault, fromMs, toMs };
}

/** Visits of 5 ms each. */
function at(...startsMs: number[]): Visit[] {
  return startsMs.map((startMs) => ({ startMs, endMs: startMs + 5 }));
}

const web = new SyntheticWeb({ hosts: 4, pages: 4, port: 80 });
const page = '/d0/p1.html';

function requests(...startsMs: number[]): LoggedRequest[] {
  const host = web.address(0);
  return at(...startsMs).map((visit) => {
    return { ...visit, host, path: page, status: 200, userAgent: 'x' };
  });
}

test('storm, judged: without a cut, the judge is as strict as for any crawl', () => {
  const visit = fc.record({ startMs: fc.nat(3000), takesMs: fc.nat(200) });
  fc.assert(
    fc.property(fc.array(visit, { maxLength: 40 }), (drawn) => {
      const visits = drawn.map(({ startMs, takesMs }) => ({ startMs, endMs: startMs + takesMs }));
      const log = requests().concat(
        visits.map((v) => ({
          ...v,
          host: web.address(0),
          path: page,
          status: 200,
          userAgent: '',
        })),
      );
      const { concurrent, tooSoon, overlap } = judge(web, log, { delayMs: 100 });
      assert.equal(straysAmong(visits, [], terms).length, concurrent.count + tooSoon.count);
      assert.equal(judgeStorm(web, log, [], terms).again.count, overlap.count);
    }),
  );
});

test('storm, judged: during a cut, two agents may visit a host, three may not', () => {
  const spans = [during(0, 10_000)];
  assert.equal(straysAmong(at(2000, 2010), spans, terms).length, 0);
  assert.equal(straysAmong(at(2000, 2010, 2105, 2115), spans, terms).length, 0);
  assert.equal(straysAmong(at(2000, 2010, 2020), spans, terms).length, 1);
  assert.equal(straysAmong(at(2000, 2010, 2020), [], terms).length, 2);
});

test('storm, judged: one visitor only before a lapse, after the cut, and under a majority', () => {
  const spans = [during(0, 10_000)];
  assert.equal(straysAmong(at(500, 510), spans, terms).length, 1);
  assert.equal(straysAmong(at(10_001, 10_010), spans, terms).length, 1);
  assert.equal(straysAmong(at(9990, 10_010), spans, terms).length, 1);
  assert.equal(straysAmong(at(2000, 2010), spans, majority).length, 1);
});

test('storm, judged: during a cut, the other side may fetch a page once more, not twice', () => {
  const spans = [during(0, 10_000)];
  const again = (times: number[], given = spans) =>
    judgeStorm(web, requests(...times), given, terms).again.count;
  assert.equal(again([2000, 3000]), 0);
  assert.equal(again([2000, 3000, 4000]), 1);
  assert.equal(again([2000, 11_000]), 1, 'after the cut, all agents know the page');
  assert.equal(again([2000, 3000, 21_000], [...spans, during(20_000, 30_000)]), 0, 'once per cut');
  assert.equal(judgeStorm(web, requests(2000, 3000), spans, majority).again.count, 1);
});

test('storm, judged: during a cut, the web may notice an aborted request up to 50 ms late', () => {
  const spans = [during(0, 10_000)];
  assert.equal(straysAmong(at(2000, 2060), spans, majority).length, 0);
  assert.equal(straysAmong(at(2000, 2050), spans, majority).length, 1);
  assert.equal(straysAmong(at(2000, 2060), [], majority).length, 1);
});
