// The transport between agents, on real sockets: binding, delivery, peers that restart or move,
// lanes, and refused frames.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { Dealer } from 'zeromq';
import type { Envelope, Message } from '../../../agent/core/protocol/messages.ts';
import {
  BULK_BYTES_MAX,
  CONTROL_FRAMES_MAX,
  PAYLOAD_BYTES_MAX,
} from '../../../agent/messaging/checks/limits.ts';
import { encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { RECONNECT_MAX_MS } from '../../../agent/messaging/peer-link.ts';
import { Transport } from '../../../agent/messaging/transport.ts';
import { freePort } from '../../../bench/ports.ts';
import { assertServes, envelope, heartbeat, type Station, station, until } from './kit.ts';

const limits = { timeout: 60_000 };

function batch(number: number, urls = 1, chars = 20): Message {
  const path = 'x'.repeat(chars);
  const items = Array.from({ length: urls }, (_, i) => ({
    url: `http://h.test/${path}${i}`,
    depth: 1,
  }));
  return { type: 'URLS', batch: number, urls: items };
}

/** Text that compresses badly, so that its size on the wire is close to `chars`. */
function noise(chars: number): string {
  let state = 7;
  let text = '';
  while (text.length < chars) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += state.toString(36);
  }
  return text.slice(0, chars);
}

const text = noise(8000);

function bulky(number: number): Message {
  const urls = Array.from({ length: 4 }, (_, i) => ({
    url: `http://h.test/${i}${text}`,
    depth: 0,
  }));
  return { type: 'URLS', batch: number, urls };
}

function batchesOf(received: readonly Envelope[]): number[] {
  return received.flatMap(({ message }) => (message.type === 'URLS' ? [message.batch] : []));
}

function peerStats(from: Station, id: string) {
  const stats = from.transport.stats().peers.find((peer) => peer.id === id);
  assert.ok(stats);
  return stats;
}

async function bindOnly(listen: string): Promise<string> {
  const log = { debug: () => {}, warn: () => {} };
  const transport = new Transport({ id: 'x', listen, log, onEnvelope() {}, onControl() {} });
  const bound = await transport.bind();
  await transport.close({ lingerMs: 0 });
  return bound.ok ? 'ok' : bound.code;
}

describe('transport: binding', limits, () => {
  it('transport: distinguishes a port in use, an invalid endpoint and a foreign address', async (t) => {
    const first = await station(t, 'a1');
    assert.equal(await bindOnly(first.address), 'port_in_use');
    assert.equal(await bindOnly('tcp://127.0.0.1:99999'), 'bad_endpoint');
    assert.equal(await bindOnly('tcp://203.0.113.7:7101'), 'not_local');
    assert.equal(await bindOnly('tcp://no-such-interface:7101'), 'not_local');
    assert.equal(await bindOnly('tcp://localhost:*'), 'ok');
  });

  it('transport: a closed transport frees its port', async (t) => {
    const first = await station(t, 'a1');
    await first.transport.close({ lingerMs: 0 });
    const second = await station(t, 'a1', { listen: first.address });
    assert.equal(second.address, first.address);
  });
});

describe('transport: delivery', limits, () => {
  it('transport: delivers 10,000 messages that are acknowledged one by one in a window', async (t) => {
    const total = 10_000;
    const window = 64;
    const acked = new Set<number>();
    let next = 0;
    const sentAt: number[] = [];
    const rounds: number[] = [];
    const pump = (): void => {
      for (; next < total && next - acked.size < window; next += 1) {
        sentAt[next] = performance.now();
        a.transport.send({ id: 'b', address: b.address }, envelope('a', 'b', batch(next)), 'bulk');
      }
    };
    const a: Station = await station(t, 'a', {
      onEnvelope: ({ message }) => {
        assert.equal(message.type, 'URLS_ACK');
        acked.add(message.batch);
        rounds.push(performance.now() - (sentAt[message.batch] ?? 0));
        pump();
      },
    });
    const b: Station = await station(t, 'b', {
      onEnvelope: ({ message }) => {
        assert.equal(message.type, 'URLS');
        const ack: Message = { type: 'URLS_ACK', batch: message.batch, notMine: [] };
        b.transport.send({ id: 'a', address: a.address }, envelope('b', 'a', ack), 'control');
      },
    });
    const startedAt = performance.now();
    pump();
    // The test is about losses, not about speed, so a busy machine gets a long time.
    await until('all messages are acknowledged', () => acked.size === total, 90_000);
    const perMessageMs = (performance.now() - startedAt) / total;
    rounds.sort((x, y) => x - y);
    t.diagnostic(`${perMessageMs.toFixed(3)} ms per message and acknowledgement`);
    t.diagnostic(`round trip, ${window} in flight: median ${rounds[total / 2]?.toFixed(2)} ms`);
    assert.equal(peerStats(a, 'b').dropped, 0);
  });

  it('transport: loses no message in transit when it first receives a message from the peer', async (t) => {
    const total = 1000;
    const a: Station = await station(t, 'a');
    const received: Envelope[] = [];
    const b: Station = await station(t, 'b', {
      onEnvelope: (heard) => {
        if (received.push(heard) > 1) return;
        const answer = envelope('b', 'a', heartbeat(0));
        b.transport.send({ id: 'a', address: a.address }, answer, 'control');
      },
    });
    // Far more than libzmq accepts at once, so most still wait when the answer arrives.
    const to = { id: 'b', address: b.address };
    for (let n = 0; n < total; n++) a.transport.send(to, envelope('a', 'b', batch(n)), 'bulk');
    await until('all messages have arrived', () => received.length === total);
    assert.deepEqual(
      batchesOf(received),
      Array.from({ length: total }, (_, n) => n),
    );
  });

  it('transport: timers still fire during a flood of messages', async (t) => {
    const target = await station(t, 'target');
    const good = await station(t, 'good');
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    t.after(() => clearInterval(timer));
    const total = 5000;
    for (let sent = 0; sent < total; sent += 100) {
      const peer = { id: 'target', address: target.address };
      for (let i = 0; i < 100; i += 1) {
        good.transport.send(peer, envelope('good', 'target', batch(sent + i)), 'bulk');
      }
      await until('the messages arrive', () => target.received.length >= sent + 100);
    }
    assert.equal(target.received.length, total);
    assert.ok(turns > 0);
  });

  it('transport: drops messages to an invalid address and serves other peers', async (t) => {
    const good = await station(t, 'good');
    const target = await station(t, 'target');
    const peer = { id: 'odd', address: 'tcp://*:nowhere' };
    good.transport.send(peer, envelope('good', 'odd', heartbeat(1)), 'control');
    good.transport.send(peer, envelope('good', 'odd', heartbeat(2)), 'control');
    assert.equal(peerStats(good, 'odd').dropped, 2);
    await assertServes(good, target, 'good');
  });

  it('transport: reports a message that is too large to its caller once', async (t) => {
    const large: number[] = [];
    const onTooLarge = (_to: string, _envelope: Envelope, bytes: number) => large.push(bytes);
    const a = await station(t, 'a', { onTooLarge });
    const result = 'x'.repeat(PAYLOAD_BYTES_MAX);
    const message: Message = { type: 'CONTROL_ACK', request: 1, ok: true, result };
    a.transport.send(
      { id: 'b', address: 'tcp://127.0.0.1:9' },
      envelope('a', 'b', message),
      'bulk',
    );
    assert.equal(large.length, 1);
    assert.deepEqual(a.transport.stats().refused, { unsendable: 1 });
  });
});

describe('transport: peers that stop, start and move', limits, () => {
  it('transport: queues a bounded amount for a peer that is down and delivers it later', async (t) => {
    const port = await freePort();
    const down = { id: 'down', address: `tcp://127.0.0.1:${port}` };
    const good = await station(t, 'good');
    const target = await station(t, 'target');
    for (let i = 0; i < 3000; i += 1) {
      good.transport.send(down, envelope('good', 'down', bulky(i)), 'bulk');
      good.transport.send(down, envelope('good', 'down', heartbeat(i)), 'control');
      const ack: Message = { type: 'URLS_ACK', batch: i, notMine: [] };
      good.transport.send(down, envelope('good', 'down', ack), 'control');
    }
    const waiting = peerStats(good, 'down');
    assert.ok(waiting.bulkBytes <= BULK_BYTES_MAX);
    assert.ok(waiting.controlFrames <= CONTROL_FRAMES_MAX);
    assert.equal(waiting.sent, 0);
    await assertServes(good, target, 'good');

    const late = await station(t, 'down', { listen: down.address });
    await until('the lanes are empty', () => peerStats(good, 'down').bulkFrames === 0);
    await until('bulk messages arrive', () => batchesOf(late.received).length > 1);
    const beats = late.received.filter(({ message }) => message.type === 'HEARTBEAT');
    assert.ok(beats.length <= 2, 'only the newest heartbeat waits, and one more may be in transit');
    assert.ok(
      beats.some(({ message }) => message.type === 'HEARTBEAT' && message.counter === 2999),
    );
  });

  it('transport: serves a receiver again after it died mid-stream and restarted', async (t) => {
    const good = await station(t, 'good');
    const first = await station(t, 'b');
    const peer = { id: 'b', address: first.address };
    const stream = async (from: number) => {
      for (let i = from; i < from + 200; i += 1) {
        good.transport.send(peer, envelope('good', 'b', batch(i)), 'bulk');
        if (i % 20 === 0) await nextTurn();
      }
    };
    const streaming = stream(0);
    await until('some messages have arrived', () => first.received.length > 0);
    await first.transport.close({ lingerMs: 0 });
    await streaming;
    const second = await station(t, 'b', { listen: first.address });
    let number = 1000;
    await until('a later batch arrives', () => {
      number += 1;
      good.transport.send(peer, envelope('good', 'b', batch(number)), 'bulk');
      return batchesOf(second.received).some((arrived) => arrived > 1000);
    });
  });

  it('transport: serves a peer that starts late as soon as it sends a message', async (t) => {
    const good = await station(t, 'good');
    const ids = ['b', 'c', 'd', 'e', 'f'];
    const late = await Promise.all(
      ids.map(async (id) => ({ id, address: `tcp://127.0.0.1:${await freePort()}` })),
    );
    for (const peer of late) {
      good.transport.send(peer, envelope('good', peer.id, heartbeat(1)), 'control');
    }
    // The pauses double: attempts after 0.1, 0.3, 0.7, 1.5 and 2.5 s. The fifth is almost 1 s away.
    await pause(1.6 * RECONNECT_MAX_MS);
    const servedMs = late.map(async ({ id, address }) => {
      const { transport, received } = await station(t, id, { listen: address });
      const since = performance.now();
      const to = { id: 'good', address: good.address };
      transport.send(to, envelope(id, 'good', heartbeat(1)), 'control');
      await until(`${id} is served`, () => received.length > 0);
      return performance.now() - since;
    });
    const sorted = (await Promise.all(servedMs)).sort((a, b) => a - b);
    assert.ok(sorted[2]! < RECONNECT_MAX_MS / 2, `served after ${sorted.map(Math.round)} ms`);
  });

  it('transport: serves a peer that moves only at its new address', async (t) => {
    const good = await station(t, 'good');
    const old = await station(t, 'target');
    await assertServes(good, old, 'good');
    const before = old.received.length;
    const moved = await station(t, 'target');
    await assertServes(good, moved, 'good');
    assert.equal(good.transport.stats().peers.length, 1);
    assert.equal(old.received.length, before);
  });

  it('transport: keeps no state of a forgotten peer and can serve it again', async (t) => {
    const good = await station(t, 'good');
    const target = await station(t, 'target');
    await assertServes(good, target, 'good');
    good.transport.forget('target');
    good.transport.forget('never met');
    assert.deepEqual(good.transport.stats().peers, []);
    await assertServes(good, target, 'good');
  });

  it('transport: close sends waiting messages and ends in time if a peer is down', async (t) => {
    const target = await station(t, 'target');
    const leaver = await station(t, 'leaver');
    const port = await freePort();
    const down = { id: 'down', address: `tcp://127.0.0.1:${port}` };
    const peer = { id: 'target', address: target.address };
    leaver.transport.send(peer, envelope('leaver', 'target', { type: 'LEAVE' }), 'control');
    leaver.transport.send(down, envelope('leaver', 'down', { type: 'LEAVE' }), 'control');
    const startedAt = performance.now();
    await leaver.transport.close({ lingerMs: 500 });
    assert.ok(performance.now() - startedAt < 5000);
    await until('LEAVE arrives', () => target.received.length === 1);
    leaver.transport.send(peer, envelope('leaver', 'target', heartbeat(1)), 'control');
    await leaver.transport.close({ lingerMs: 500 });
  });
});

describe('transport: lanes', limits, () => {
  it('transport: sends control messages before waiting bulk messages', async (t) => {
    const port = await freePort();
    const peer = { id: 'b', address: `tcp://127.0.0.1:${port}` };
    const a = await station(t, 'a');
    for (let i = 0; i < 6; i += 1) a.transport.send(peer, envelope('a', 'b', bulky(i)), 'bulk');
    a.transport.send(peer, envelope('a', 'b', { type: 'LIST_ACK', list: 1, part: 0 }), 'control');
    a.transport.send(peer, envelope('a', 'b', heartbeat(1)), 'control');
    const b = await station(t, 'b', { listen: peer.address });
    await until('all messages arrive', () => b.received.length === 8);
    const types = b.received.map(({ message }) => message.type);
    // The socket received the first batch before the control messages were sent.
    assert.deepEqual(types.slice(0, 4), ['URLS', 'LIST_ACK', 'HEARTBEAT', 'URLS']);
  });

  it('transport: delivers heartbeats while the bulk lane is saturated', async (t) => {
    let flood: NodeJS.Timeout | undefined;
    // Registered first, so that the flood ends before the transports are closed.
    t.after(() => clearInterval(flood));
    const a = await station(t, 'a');
    const b = await station(t, 'b');
    const peer = { id: 'b', address: b.address };
    let number = 0;
    const bulkBytes = () => a.transport.stats().peers[0]?.bulkBytes ?? 0;
    flood = setInterval(() => {
      while (bulkBytes() < BULK_BYTES_MAX / 2) {
        a.transport.send(peer, envelope('a', 'b', bulky(number)), 'bulk');
        number += 1;
      }
    }, 1);
    await until('bulk messages flow', () => batchesOf(b.received).length > 20);
    const delays: number[] = [];
    for (let counter = 1; counter <= 20; counter += 1) {
      const startedAt = performance.now();
      a.transport.send(peer, envelope('a', 'b', heartbeat(counter)), 'control');
      const arrived = ({ message }: Envelope) =>
        message.type === 'HEARTBEAT' && message.counter === counter;
      await until('the heartbeat arrives', () => b.received.some(arrived));
      delays.push(performance.now() - startedAt);
    }
    t.diagnostic(`slowest heartbeat ${Math.max(...delays).toFixed(0)} ms amid ${number} batches`);
    assert.ok(Math.max(...delays) < 2000);
  });
});

describe('transport: refusals', limits, () => {
  it('transport: reports the version of an incompatible peer and logs it once', async (t) => {
    const target = await station(t, 'target');
    const dealer = new Dealer({ linger: 0 });
    t.after(() => dealer.close());
    dealer.connect(target.address);
    const frame = Buffer.from([0x55, 0x42, 200, 0, 0x7b, 0x7d]);
    for (let i = 0; i < 50; i += 1) await dealer.send(frame);
    await until('all frames are refused', () => target.refused.length === 50);
    assert.equal(target.refused[0]?.version, 200);
    assert.deepEqual(target.transport.stats().refused, { wrong_version: 50 });
    assert.equal(target.lines.length, 1);
  });

  it('transport: reports the sender and the number of a malformed batch', async (t) => {
    const target = await station(t, 'target');
    const good = await station(t, 'good');
    const broken = { type: 'URLS', batch: 42, urls: [{ url: '', depth: 0 }] } as const;
    const peer = { id: 'target', address: target.address };
    good.transport.send(peer, envelope('good', 'target', broken), 'bulk');
    await until('the message is refused', () => target.refused.length === 1);
    assert.equal(target.refused[0]?.batch, 42);
    assert.deepEqual(target.refused[0]?.from, { id: 'good', inc: 1 });
    assert.deepEqual(target.refused[0]?.to, { id: 'target', inc: 1 });
  });

  it('transport: refuses messages of a second agent on the same connection', async (t) => {
    const target = await station(t, 'target');
    const dealer = new Dealer({ linger: 0 });
    t.after(() => dealer.close());
    dealer.connect(target.address);
    for (const id of ['a2', 'a2', 'a3']) {
      const encoded = encodeEnvelope(envelope(id, 'target', { type: 'LEAVE' }));
      assert.ok(encoded.ok);
      await dealer.send(encoded.frame);
    }
    await until('the third message is refused', () => target.refused.length === 1);
    assert.deepEqual(
      target.received.map(({ from }) => from.id),
      ['a2', 'a2'],
    );
    assert.deepEqual(target.transport.stats().refused, { sender_changed: 1 });
  });

  it('transport: refuses incarnations above the current maximum', async (t) => {
    let ceiling = 100;
    const target = await station(t, 'target', { incarnationMax: () => ceiling });
    const good = await station(t, 'good');
    const peer = { id: 'target', address: target.address };
    const forged: Envelope = {
      ...envelope('good', 'target', { type: 'LEAVE' }),
      from: { id: 'good', inc: 101 },
    };
    good.transport.send(peer, forged, 'control');
    await until('the message is refused', () => target.refused.length === 1);
    ceiling = 101;
    good.transport.send(peer, forged, 'control');
    await until('the message is accepted', () => target.received.length === 1);
  });
});
