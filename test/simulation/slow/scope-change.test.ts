// The slower tests of a scope that the operator changes between two starts of a cluster, on real
// cores. The others are in `test/simulation/scope-change.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UrlScope } from '../../../agent/url/request-scope.ts';
import { crawling } from '../case-kit.ts';
import type { Cluster } from '../cluster.ts';
import { IDS, isOdd, NARROW, restart, skippedByScope } from '../scope-change-stage.ts';

const WIDE: UrlScope = { covers: () => true, admits: () => true };

function beginRound(c: Cluster, id: string): void {
  const agent = c.agents.get(id)!;
  agent.inputs.push(() => agent.core.operator.refresh(1, c.instant(id)));
}

/** The pages, with `skipped`, of all agents that ended with 0. */
function answers(c: Cluster): Map<string, string | null> {
  const ended = [...c.agents.values()].filter(({ end }) => end?.code === 0);
  const rows = ended.flatMap(({ id }) => {
    const sql = 'SELECT url, skipped FROM pages';
    return c.disks.get(id)!.db.prepare<[], { url: string; skipped: string | null }>(sql).all();
  });
  const byUrl = new Map(rows.map(({ url, skipped }) => [url, skipped]));
  assert.equal(byUrl.size, rows.length, 'each page is shown once');
  return byUrl;
}

describe('a scope that changes', () => {
  it('scope: after the scope is widened, skipped URLs are fetched although an agent dies', () => {
    const c = crawling(IDS);
    restart(c, NARROW);
    c.runToEnd();
    assert.ok(skippedByScope(c).length > 0);
    restart(c, WIDE);
    c.run(200);
    c.kill('a2');
    c.runToEnd();
    assert.equal(c.fetched().size, 1200);
    assert.deepEqual(c.impolite(), []);
  });

  it('scope: a refresh in a narrowed scope keeps the last answers although an agent dies', () => {
    const c = crawling(IDS);
    c.runToEnd();
    restart(c, NARROW);
    beginRound(c, 'a1');
    c.run(2000);
    c.kill('a2');
    c.runToEnd();
    const isOut = (url: string) => isOdd(url) || url.startsWith('http://h2.test/');
    const shown = answers(c);
    assert.equal(shown.size, 1200);
    for (const [url, skipped] of shown) assert.equal(skipped, isOut(url) ? 'scope' : null, url);
  });
});
