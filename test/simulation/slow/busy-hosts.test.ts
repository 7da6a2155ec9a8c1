// The slower tests of servers that answered that they are busy: no agent sends them requests for
// that time. The others are in `test/simulation/busy-hosts.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AgentId } from '../../../agent/core/protocol/messages.ts';
import type { HostRecord } from '../../../agent/frontier/frontier-store.ts';
import {
  busyFor,
  crawl,
  HOST,
  heirOf,
  IDS,
  MINUTE,
  toHost,
  told,
  WAIT_MS,
} from '../busy-hosts-stage.ts';
import { joinAndLeave } from '../case-kit.ts';
import { Cluster, SUSPECT_MS } from '../cluster.ts';

function rowOf(c: Cluster, id: AgentId): HostRecord {
  return c.agents.get(id)!.store.host(HOST);
}

describe('a busy host that named a wait', () => {
  it('gets no requests while its host moves to a joining agent and back', () => {
    const [first, second, ...rest] = new Cluster({ ids: IDS, web: new Map(), seeds: [] }).order(
      HOST,
      IDS,
    );
    const c = crawl(busyFor(WAIT_MS), [second!, ...rest]);
    const { saidAt } = told(c);
    joinAndLeave(c, first!);
    c.start(first!);
    c.run(SUSPECT_MS);
    assert.equal(heirOf(c), first);
    c.kill(first!);
    c.run(WAIT_MS / 2);
    assert.deepEqual(toHost(c, saidAt), []);
    c.close();
  });

  it('gets no requests either if it named the wait in the answer for robots.txt', () => {
    const c = crawl({
      busy: ({ host, kind }) =>
        host === HOST && kind === 'robots' ? { status: 429, retryAfterMs: WAIT_MS } : null,
    });
    c.runUntil('it is busy', () => toHost(c).some(({ whole }) => whole));
    const [said] = toHost(c);
    c.run(200);
    c.kill(said!.by);
    c.run(WAIT_MS / 2);
    assert.equal(toHost(c).length, 1);
    c.close();
  });
});

describe('a busy host that named no wait', () => {
  it('has the same back-off steps at each new owner', () => {
    const c = crawl(busyFor(null));
    const { owner, saidAt } = told(c);
    assert.equal(rowOf(c, owner).busy, 1);
    c.runUntil('it has answered so three times', () => toHost(c, saidAt).length === 2, 10 * MINUTE);
    c.run(200);
    const last = toHost(c).at(-1)!.end;
    c.kill(owner);
    c.run(2 * SUSPECT_MS);
    const successor = heirOf(c);
    assert.equal(rowOf(c, successor).busy, 3);
    c.runUntil('it gets a request again', () => toHost(c, last).length > 0, 30 * MINUTE);
    // 60 s, doubled with each step, plus up to half of it at random.
    const waitedMs = toHost(c, last)[0]!.start - last;
    assert.ok(waitedMs >= 360_000 && waitedMs < 380_000, `${waitedMs} ms`);
    c.run(200);
    assert.equal(rowOf(c, successor).busy, 4);
    const { blocks, busySince } = rowOf(c, successor);
    assert.equal(blocks, 4, 'the number of blocks, which leads to giving up the host, is copied');
    assert.ok(Math.abs(busySince! - saidAt) < 2 * SUSPECT_MS, 'its first time is copied');
    c.close();
  });
});
