// Directives that arrive when an agent has found the crawl complete but has not ended.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cluster, endCodes } from '../case-kit.ts';
import type { Cluster } from '../cluster.ts';
import { block, give, hasOrders, PAUSE, RESUME, type What } from '../orders-stage.ts';

const IDS = ['a1', 'a2', 'a3', 'a4'];
const HOSTS = 8;
const PAGES = 5;
/** A leaf of the web, which no other host needs. */
const HOST = `h${HOSTS - 1}.test`;
const kademlia = { contacts: IDS, ids: 1, neighbourhood: 4, bucketSize: 4 };
const unblock: What = { kind: 'block', host: HOST, value: null };

/** A cluster that has crawled all but the blocked host; nobody hears COMPLETE while `mute`. */
function atEnd(more: object) {
  const c = cluster(IDS, more, HOSTS, PAGES);
  const heard = { mute: true };
  c.lose = (_, __, { type }) => heard.mute && type === 'COMPLETE';
  c.startAll();
  c.runUntil('the crawl begins', () => c.fetched().size > 0);
  give(c, 'a1', block(HOST));
  c.runUntil('one has found the crawl complete', () => complete(c).length > 0);
  return { c, heard };
}

function complete(c: Cluster): string[] {
  return [...c.agents.keys()].filter((id) => c.snapshot(id).lifecycle === 'complete');
}

for (const overlay of ['ring', 'kademlia'] as const) {
  for (const quorum of ['none', 'majority'] as const) {
    const more = { quorum, ...(overlay === 'kademlia' && { kademlia }) };
    describe(`orders at the end: ${overlay}, quorum ${quorum}`, () => {
      it('an agent that has found the crawl complete refuses directives', () => {
        const { c, heard } = atEnd(more);
        const delay: What = { kind: 'delay', host: HOST, value: 9 };
        for (const what of [PAUSE, RESUME, delay, unblock, block('h1.test')]) {
          const why = 'the crawl is complete; try again when its agents have ended';
          assert.deepEqual(give(c, complete(c)[0]!, what), [{ ok: false, why }]);
        }
        heard.mute = false;
        c.runToEnd();
        assert.ok(IDS.every((id) => hasOrders(c, id, 1)));
      });

      for (const { kind, what } of [
        { kind: 'an unblock', what: { ...unblock, n: 50 } },
        { kind: 'a round', what: { kind: 'refresh', host: '', value: 50, n: 50 } as const },
      ]) {
        it(`${kind} from another agent reopens the crawl`, () => {
          const { c, heard } = atEnd(more);
          const before = c.log.length;
          const [id] = complete(c);
          const { core } = c.agents.get(id!)!;
          core.operator.onDirectives('a9', [{ ...what, by: 'a9' }], c.instant(id!));
          c.runUntil('requests', () => c.log.length > before);
          heard.mute = false;
          c.runToEnd();
          assert.deepEqual(new Set(endCodes(c)), new Set([0]));
          const pages = [...c.fetched().keys()].filter((url) => url.includes(HOST));
          assert.equal(pages.length > 0, kind === 'an unblock');
        });
      }
    });
  }
}

for (const quorum of ['none', 'majority'] as const) {
  it(`COMPLETE from before an unblock does not count: quorum ${quorum}`, () => {
    for (const host of ['h1.test', 'h2.test', 'h3.test', HOST]) {
      const c = cluster(['a1', 'a2'], { quorum }, HOSTS, PAGES);
      c.startAll();
      c.runUntil('the crawl begins', () => c.fetched().size > 0);
      give(c, 'a1', block(host));
      c.runUntil('one has found the crawl complete', () => complete(c).length > 0);
      const [first, ...others] = complete(c);
      assert.deepEqual(others, [], 'the other one is about to receive COMPLETE');
      // In the end, the other one finds the crawl complete a beat before the first.
      let [isIdle, lost] = [false, 0];
      c.lose = (from, _, message) => {
        if (message.type !== 'HEARTBEAT') return false;
        if (from === first && message.idle) isIdle = true;
        return isIdle && from !== first && lost++ < 2;
      };
      for (const [id, { core }] of c.agents) {
        core.operator.onDirectives('a9', [{ ...unblock, host, n: 50, by: 'a9' }], c.instant(id));
      }
      c.runToEnd();
      assert.deepEqual(endCodes(c), [0, 0]);
      const suspects = "SELECT count(*) FROM events WHERE kind = 'suspect'";
      for (const { db } of c.disks.values()) assert.equal(db.prepare(suspects).pluck().get(), 0);
    }
  });
}
