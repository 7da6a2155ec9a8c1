// The transport counts sent messages and their bytes by type.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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
});
