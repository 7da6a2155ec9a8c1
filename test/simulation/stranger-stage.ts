// The setup shared by `stranger.test.ts` and `slow/stranger.test.ts`.

import assert from 'node:assert/strict';
import type { AgentId, Message } from '../../agent/core/protocol/messages.ts';
import { crawling, endCodes, inc } from './case-kit.ts';
import { type Cluster, SUSPECT_MS } from './cluster.ts';

export const IDS = ['a1', 'a2'] as const;
export const ZZ = { id: 'zz', inc: 5 };
export const PAGES = 1200;

export function say(c: Cluster, to: AgentId, message: Message, from = ZZ): void {
  c.deliver(to, { from, to: { id: to, inc: inc(c, to) }, message });
}

export function assertUnharmed(c: Cluster, incs: readonly number[]): void {
  assert.deepEqual(endCodes(c), [0, 0]);
  assert.equal(c.fetched().size, PAGES);
  assert.deepEqual(c.impolite(), []);
  const events = (id: AgentId, kind: string) => {
    const { db } = c.disks.get(id)!;
    return db.prepare('SELECT detail FROM events WHERE kind = ?').pluck().all(kind).map(String);
  };
  for (const [k, id] of IDS.entries()) {
    assert.ok(
      events(id, 'refused').some((detail) => JSON.parse(detail).agent === 'zz'),
      `${id} does not name it`,
    );
    for (const kind of ['order', 'rejoin', 'suspect']) assert.deepEqual(events(id, kind), []);
    assert.equal(c.disks.get(id)!.db.prepare('SELECT count(*) FROM order_rows').pluck().get(), 0);
    assert.equal(c.agents.get(id)!.store.incarnation(), incs[k]);
  }
}

/** Sends the message to both agents in the middle of a crawl. */
export function attacked(messageFor: (c: Cluster, to: AgentId) => Message): void {
  const c = crawling(IDS);
  const incs = IDS.map((id) => inc(c, id));
  for (const id of IDS) say(c, id, messageFor(c, id));
  c.run(SUSPECT_MS);
  assert.deepEqual(
    c.snapshot('a1').members.map(({ id }) => id),
    ['a2'],
  );
  c.runToEnd();
  assertUnharmed(c, incs);
}
