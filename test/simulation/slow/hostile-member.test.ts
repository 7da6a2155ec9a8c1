// A member that crawls like the others and also sends false messages, each well formed. The other
// agents lose no page, never visit a host twice at once, finish after it is removed, and name it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BOUNDS } from '../../../agent/core/protocol/bounds.ts';
import type { AgentId, Message } from '../../../agent/core/protocol/messages.ts';
import { decodeFrame, encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { crawling, inc } from '../case-kit.ts';
import type { Cluster } from '../cluster.ts';

const IDS = ['a1', 'a2', 'evil'] as const;
const HONEST = ['a1', 'a2'] as const;
/** Duration of the attack. */
const ATTACK_MS = 6000;
const EVERY_MS = 50;
const PAGES = 1200;

interface Says {
  readonly to: AgentId;
  readonly as?: { readonly id: AgentId; readonly inc: number };
  readonly message: Message;
}

/** Runs a crawl in which `evil` sends all these messages repeatedly and is killed at the end. */
function attacked(saysAt: (c: Cluster, k: number) => readonly Says[], more = {}): Cluster {
  const c = crawling(IDS, { backups: 2, ...more });
  const startedAt = c.now;
  for (let k = 0; k * EVERY_MS < ATTACK_MS; k++) {
    c.at(startedAt + k * EVERY_MS, () => {
      if (!c.agents.get('evil')?.alive) return;
      for (const { to, as, message } of saysAt(c, k)) {
        if (c.agents.get(to)?.end) continue;
        const from = as ?? { id: 'evil', inc: inc(c, 'evil') };
        const encoded = encodeEnvelope({ from, to: { id: to, inc: inc(c, to) }, message });
        assert.ok(encoded.ok);
        const decoded = decodeFrame(encoded.frame);
        assert.ok(decoded.ok, 'the frame is well formed');
        c.deliver(to, decoded.envelope);
      }
    });
  }
  c.run(ATTACK_MS);
  c.kill('evil');
  c.runUntil('the others have ended', () => HONEST.every((id) => c.agents.get(id)!.end), 120_000);
  return c;
}

function assertUnharmed(c: Cluster): void {
  assert.deepEqual(
    HONEST.map((id) => c.agents.get(id)!.end?.code),
    [0, 0],
  );
  assert.equal(c.fetched().size, PAGES);
  assert.deepEqual(c.impolite(), []);
}

/** The honest agents that recorded this claim of `evil`. */
function namedBy(c: Cluster, claim: string): AgentId[] {
  return HONEST.filter((id) =>
    c.disks
      .get(id)!
      .db.prepare("SELECT detail FROM events WHERE kind = 'refused'")
      .pluck()
      .all()
      .map((detail) => JSON.parse(String(detail)) as { agent: string; claim: string })
      .some((detail) => detail.agent === 'evil' && detail.claim === claim),
  );
}

const about = { version: 2 ** 50, backoffMs: 0, delayMs: 0 };
const PAGE = {
  ...{ status: 200, error: null, contentType: null, bytes: 0, digest: null },
  ...{ fetchedAt: 1, durationMs: 1, redirectTo: null },
};

describe('a hostile member', () => {
  it('cannot end pages by rows for hosts that it does not own', () => {
    const c = attacked((cluster) =>
      HONEST.map((to) => {
        const hosts = Array.from({ length: 40 }, (_, k) => `h${k}.test`);
        const theirs = hosts.filter((host) => cluster.order(host, IDS)[0] === to);
        const rowsOf = (host: string) => {
          const keys = Array.from({ length: 30 }, (_, p) => `h/p${p}`);
          const found = keys.map((key, p) => {
            return { kind: 'found', n: 2 * p + 1, key, depth: 1, attempts: 0 } as const;
          });
          const done = keys.map((key, p) => {
            const state = 'response' as const;
            return { kind: 'done', n: 2 * p + 2, key, state, attempts: 1, page: PAGE } as const;
          });
          const events = [...found, ...done].sort((x, y) => x.n - y.n);
          return { host, from: 0, to: 60, events, ...about };
        };
        return { to, message: { type: 'ROWS', number: 1, items: theirs.map(rowsOf) } };
      }),
    );
    assertUnharmed(c);
    assert.deepEqual(namedBy(c, 'rows'), HONEST);
  });

  it('cannot acknowledge rows that were never sent, or numbers that were never assigned', () => {
    const c = attacked((cluster) =>
      HONEST.map((to) => {
        const items = Array.from({ length: 40 }, (_, k) => ({ host: `h${k}.test`, mark: 2 ** 52 }));
        const number = cluster.now % 2 === 0 ? 2 ** 40 : 1 + (cluster.now % 50);
        return { to, message: { type: 'ROWS_ACK', number, gen: 0, items } };
      }),
    );
    assertUnharmed(c);
    assert.deepEqual(namedBy(c, 'rows-ack'), HONEST);
  });

  it('is refused when it sends a list without end', () => {
    const c = attacked(
      (_, k) =>
        HONEST.flatMap((to) =>
          [0, 1, 2].map((more) => ({
            to,
            message: {
              ...{ type: 'LIST', list: 2 ** 30, part: 3 * k + more, last: false, leavers: [] },
              hosts: [`h${k % 40}.test`],
            } as const,
          })),
        ),
      { settings: () => ({ bounds: { ...BOUNDS, listParts: 50 } }) },
    );
    assertUnharmed(c);
    assert.deepEqual(namedBy(c, 'list'), HONEST);
  });

  it('cannot occupy more than a few batches by a flood of URLs', () => {
    // URLs are acknowledged when their copies are safe. Without its own acknowledgements none is.
    const lose = (from: AgentId, _: AgentId, message: Message) =>
      from === 'evil' && message.type === 'ROWS_ACK';
    const c = attacked((cluster, k) => {
      cluster.lose = lose;
      return HONEST.map((to) => {
        const hosts = Array.from({ length: 40 }, (_, h) => `h${h}.test`);
        const urls = hosts.map((host) => ({ url: `http://${host}/p1`, depth: 1 }));
        return { to, message: { type: 'URLS', batch: 10_000 + k, urls } };
      });
    });
    assertUnharmed(c);
    assert.deepEqual(namedBy(c, 'urls'), HONEST);
  });

  it("cannot change a link by a HELLO for another agent or from another agent's address", () => {
    const hello = { type: 'HELLO', capacity: 1, fingerprint: 'same', n: 0 } as const;
    const c = attacked((cluster) => [
      {
        to: 'a1',
        as: { id: 'a2', inc: inc(cluster, 'a2') + 1 },
        message: { ...hello, address: 'tcp://192.0.2.9:1' },
      },
      { to: 'a1', message: { ...hello, address: 'ipc://sim/a2' } },
    ]);
    assertUnharmed(c);
    assert.equal(namedBy(c, 'hello').includes('a1'), true);
    const elsewhere = c.snapshot('a1').members.filter(({ address }) => address.startsWith('tcp'));
    assert.deepEqual(elsewhere, []);
  });
});
