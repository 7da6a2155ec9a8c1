// The transport counts sent messages and their bytes by type.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message } from '../../../agent/core/protocol/messages.ts';
import { encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { envelope, heartbeat, station, until } from './kit.ts';

describe('traffic: sent messages by type', { timeout: 60_000 }, () => {
  it('traffic: counts messages and the bytes of their frames by type, for all peers together', async (t) => {
    const [a, b, c] = [await station(t, 'a'), await station(t, 'b'), await station(t, 'c')];
    const batch = { type: 'URLS', batch: 1, urls: [{ url: 'http://h.test/1', depth: 1 }] } as const;
    const urls = envelope('a', 'b', batch);
    const beat = envelope('a', 'c', heartbeat(1));
    a.transport.send({ id: 'b', address: b.address }, urls, 'bulk');
    a.transport.send({ id: 'b', address: b.address }, urls, 'bulk');
    a.transport.send({ id: 'c', address: c.address }, beat, 'control');
    await until(
      'all messages have arrived',
      () => b.received.length === 2 && c.received.length === 1,
    );
    const bytesOf = (of: typeof urls) => {
      const encoded = encodeEnvelope(of);
      assert.ok(encoded.ok);
      return encoded.frame.length;
    };
    const expected = {
      URLS: { messages: 2, bytes: 2 * bytesOf(urls) },
      HEARTBEAT: { messages: 1, bytes: bytesOf(beat) },
    };
    await until('all messages are counted', () => a.transport.stats().sent.URLS?.messages === 2);
    assert.deepEqual(a.transport.stats().sent, expected);
    assert.deepEqual(b.transport.stats().sent, {});
  });

  it('traffic: keeps the counts of a closed link and does not count messages that wait for a dead peer', async (t) => {
    const [a, b] = [await station(t, 'a'), await station(t, 'b')];
    const beat = envelope('a', 'b', heartbeat(1));
    a.transport.send({ id: 'b', address: b.address }, beat, 'control');
    await until('the heartbeat has arrived', () => b.received.length === 1);
    await b.transport.close({ lingerMs: 0 });
    a.transport.forget('b');
    a.transport.send({ id: 'b', address: b.address }, beat, 'control');
    assert.equal(a.transport.stats().peers[0]?.sent, 0);
    assert.equal(a.transport.stats().sent.HEARTBEAT?.messages, 1);
  });

  it('traffic: with the overlay kademlia, counts the operations of the paper', async (t) => {
    const a = await station(t, 'a', { countsOperations: true });
    const b = await station(t, 'b');
    const items = [{ host: 'h.test', waitMs: 0 }];
    const given = [{ host: 'h.test', keep: false }];
    const messages: readonly Message[] = [
      { type: 'URLS', batch: 1, urls: [{ url: 'http://h.test/1', depth: 1 }] },
      { type: 'ROWS', number: 1, items: [] },
      { type: 'YIELD_ACK', list: 1, items: given },
      { type: 'LIST', list: 1, part: 0, hosts: [], last: true, leavers: [] },
      { type: 'YIELD', list: 1, items },
      { type: 'URLS_ACK', batch: 1, notMine: [] },
    ];
    for (const message of messages) {
      const to = { id: 'b', address: b.address };
      a.transport.send(to, envelope('a', 'b', message), 'control');
    }
    await until('all messages have arrived', () => b.received.length === messages.length);
    const counts = () => Object.entries(a.transport.stats().sent);
    const all = () => counts().reduce((sum, [, { messages: n }]) => sum + n, 0);
    await until('all messages are counted', () => all() === messages.length);
    assert.deepEqual(Object.fromEntries(counts().map(([name, { messages: n }]) => [name, n])), {
      STORE_TASK: 1,
      STORE_BACKUP: 1,
      DELETE_BACKUP: 1,
      REFRESH_TASK: 2,
      URLS_ACK: 1,
    });
  });
});
