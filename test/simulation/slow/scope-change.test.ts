// A scope that the operator narrows or widens between two starts of a cluster, on real cores: what is
// queued is judged before each request, and what was skipped comes back.
// The slower of these tests; the others are in `test/simulation/scope-change.test.ts`.

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

/** The pages of the agents that ended by themselves, each with `skipped`. */
function answers(c: Cluster): Map<string, string | null> {
  const ended = [...c.agents.values()].filter(({ end }) => end?.code === 0);
  const rows = ended.flatMap(({ id }) => {
    const sql = 'SELECT url, skipped FROM pages';
    return c.disks.get(id)!.db.prepare<[], { url: string; skipped: string | null }>(sql).all();
  });
  const byUrl = new Map(rows.map(({ url, skipped }) => [url, skipped]));
  assert.equal(byUrl.size, rows.length, 'each is shown once');
  return byUrl;
}

describe('a scope that changes', () => {
  it('scope: widened again, what it had skipped is fetched, after a takeover too', () => {
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

  it('scope: narrowed before a refresh, the last answers stay, after a takeover too', () => {
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
