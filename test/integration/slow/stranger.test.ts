// A stranger with other settings sends messages that could pause or end a crawl, both to agents
// that start and to agents that crawl. The crawl must fetch every page, and each agent must name
// the stranger.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { Dealer, Router } from 'zeromq';
import type { Directive, Message, News } from '../../../agent/core/protocol/messages.ts';
import { decodeFrame, encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { holds, judge } from '../../web/judge.ts';
import { startWeb } from '../../web/server.ts';
import { Scratch, start, until } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';

const IDS = ['a1', 'a2'] as const;
const delayMs = 40;
const ZZ = { id: 'zz', inc: Date.now() };

/** A stranger that knows the addresses of the agents, but not their settings. */
class Stranger {
  readonly #router = new Router({ linger: 0 });
  readonly #dealers: ReadonlyMap<string, Dealer>;
  readonly incs = new Map<string, number>();
  /** A socket allows one send at a time. */
  readonly #sending = new Map<string, Promise<void>>();

  constructor(listens: ReadonlyMap<string, string>) {
    this.#dealers = new Map(
      [...listens].map(([id, listen]) => {
        const dealer = new Dealer({ linger: 0, reconnectInterval: 5, sendHighWaterMark: 100 });
        dealer.connect(listen);
        return [id, dealer];
      }),
    );
  }

  /** Sends COMPLETE and REFUSED to each agent when it receives the first message from it. */
  async listen(): Promise<void> {
    await this.#router.bind('tcp://127.0.0.1:*');
    void this.#hear().catch(() => {});
  }

  async #hear(): Promise<void> {
    for await (const parts of this.#router) {
      const decoded = decodeFrame(parts.at(-1)!);
      if (!decoded.ok) continue;
      const { id, inc } = decoded.envelope.from;
      if (this.incs.has(id)) continue;
      this.incs.set(id, inc);
      const ugly = 'x\u001B[31mred\u001B[2J';
      await this.say(id, { type: 'COMPLETE' });
      await this.say(id, { type: 'REFUSED', path: ugly, yours: 'a', theirs: 'b', joined: true });
    }
  }

  async say(to: string, message: Message): Promise<void> {
    const inc = this.incs.get(to) ?? 0;
    const encoded = encodeEnvelope({ from: ZZ, to: { id: to, inc }, message });
    assert.ok(encoded.ok);
    const sent = (this.#sending.get(to) ?? Promise.resolve()).then(() =>
      this.#dealers.get(to)!.send(encoded.frame),
    );
    this.#sending.set(to, sent);
    await sent;
  }

  async hello(to: string): Promise<void> {
    const address = this.#router.lastEndpoint!;
    await this.say(to, {
      type: 'HELLO',
      capacity: 1,
      address,
      fingerprint: 'x',
      greeting: 'g',
      n: 0,
    });
  }

  close(): void {
    for (const dealer of this.#dealers.values()) dealer.close();
    this.#router.close();
  }
}

const welcome = (more: Partial<Extract<Message, { type: 'WELCOME' }>>): Message => {
  return { type: 'WELCOME', greeting: 'g', members: [], gone: [], orders: [], ...more };
};

function member(id: string, inc: number, capacity: number, port: number): News {
  const address = `tcp://127.0.0.1:${port}`;
  return { id, inc, capacity, address, counter: 1, joined: true, direct: true };
}

function harmTo(id: string, inc: number): Message[] {
  const order = { kind: 'pause', host: '', value: 1, n: 2 ** 40, by: 'zz' } as const;
  const thousands = Array.from({ length: 4000 }, (_, k) => k);
  const delays = (part: number): Directive[] =>
    thousands.map((k) => ({ ...order, kind: 'delay', host: `h${part}-${k}.test`, value: 5, n: 3 }));
  const gone = (part: number) =>
    thousands.map((k) => ({ id: `${part}-${k}`.padEnd(128, 'x'), inc: 1.7e12, ageMs: 0 }));
  const ghosts = thousands.slice(0, 1000).map((k) => member(`g${k}`, 5, 1000, 10_000 + k));
  return [
    welcome({ orders: [order] }),
    welcome({ orders: [{ ...order, kind: 'refresh', value: 2 ** 40 }] }),
    ...[0, 1, 2].map((part) => welcome({ orders: delays(part) })),
    ...[0, 1, 2].map((part) => welcome({ gone: gone(part) })),
    welcome({ members: [member(id, inc + 5, 1, 9)] }),
    welcome({ members: ghosts }),
    { type: 'ORDERS', orders: [order] },
    { type: 'LEAVE' },
    { type: 'COMPLETE' },
  ];
}

function listensOf(config: string): Map<string, string> {
  const { cluster } = JSON.parse(readFileSync(config, 'utf8'));
  return new Map(
    cluster.agents.map(({ id, listen }: { id: string; listen: string }) => [id, listen]),
  );
}

/**
 * Raises the time-outs, since a stalled agent would get a new incarnation and ignore the messages.
 */
function makePatient(file: string): void {
  const config = JSON.parse(readFileSync(file, 'utf8'));
  config.cluster.failureDetector = { heartbeatMs: 200, suspectAfterMs: 10_000 };
  writeFileSync(file, JSON.stringify(config));
}

async function strangerOf(t: TestContext, config: string): Promise<Stranger> {
  const stranger = new Stranger(listensOf(config));
  t.after(() => stranger.close());
  await stranger.listen();
  return stranger;
}

test('member messages of a stranger have no effect, and the agents name the stranger', async (t) => {
  const shares = { flaky: 0, slow: 0 };
  const web = await startWeb({ hosts: 8, pages: 14, port: 0, shares, net: 49 });
  t.after(() => web.stop());
  const gate = await startGate();
  t.after(() => gate.stop());
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const config = await scratch.config(2, { seeds: [web.seed, gate.seed] });
  makePatient(config);
  const stranger = await strangerOf(t, config);
  const launch = start(['launch', config]);
  await until('a message from both agents', () => {
    for (const id of IDS) if (!stranger.incs.has(id)) void stranger.hello(id).catch(() => {});
    return stranger.incs.size === IDS.length;
  });
  await until('the first requests', () => web.requests().length > 5);
  for (const id of IDS) {
    for (const message of harmTo(id, stranger.incs.get(id)!)) await stranger.say(id, message);
  }
  const fileOf = (id: string) => path.join(scratch.dataDir, id, 'state.sqlite');
  const refusedBy = (id: string) => {
    const db = new Database(fileOf(id), { readonly: true });
    const details = db.prepare("SELECT detail FROM events WHERE kind = 'refused'").pluck().all();
    db.close();
    return details.map((detail) => JSON.parse(String(detail)) as { agent: string; claim: string });
  };
  const isNamed = (id: string) =>
    ['unasked', 'stranger'].every((claim) =>
      refusedBy(id).some((event) => event.agent === 'zz' && event.claim === claim),
    );
  await until('events of both agents about the stranger', () => IDS.every(isNamed));
  gate.open();
  const { code, stderr } = await launch.ended;
  assert.equal(code, 0, stderr);
  const judgement = judge(web.web, web.requests(), { delayMs });
  assert.ok(holds(judgement), JSON.stringify(judgement, null, 1));
  for (const id of IDS) {
    const db = new Database(fileOf(id), { readonly: true });
    const count = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
    assert.equal(count('order_rows'), 0);
    assert.ok(Number(count('gone_agents')) <= IDS.length);
    const kinds = db.prepare('SELECT DISTINCT kind FROM events').pluck().all();
    for (const kind of ['order', 'rejoin']) assert.equal(kinds.includes(kind), false, kind);
    db.close();
  }
});
