import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { envelope, heartbeat, station, until } from './kit.ts';

describe('traffic: what was sent, by type', { timeout: 60_000 }, () => {
  it('traffic: messages and the bytes of their frames are counted by type, for all peers', async (t) => {
    const [a, b, c] = [await station(t, 'a'), await station(t, 'b'), await station(t, 'c')];
    const batch = { type: 'URLS', batch: 1, urls: [{ url: 'http://h.test/1', depth: 1 }] } as const;
    const urls = envelope('a', 'b', batch);
    const beat = envelope('a', 'c', heartbeat(1));
    a.transport.send({ id: 'b', address: b.address }, urls, 'bulk');
    a.transport.send({ id: 'b', address: b.address }, urls, 'bulk');
    a.transport.send({ id: 'c', address: c.address }, beat, 'control');
    await until('all have come', () => b.received.length === 2 && c.received.length === 1);
    const bytesOf = (of: typeof urls) => {
      const encoded = encodeEnvelope(of);
      assert.ok(encoded.ok);
      return encoded.frame.length;
    };
    const expected = {
      URLS: { messages: 2, bytes: 2 * bytesOf(urls) },
      HEARTBEAT: { messages: 1, bytes: bytesOf(beat) },
    };
    await until('all are counted', () => a.transport.stats().sent.URLS?.messages === 2);
    assert.deepEqual(a.transport.stats().sent, expected);
    assert.deepEqual(b.transport.stats().sent, {});
  });

  it('traffic: the counts outlive the link, and what waits for a dead peer is not in them', async (t) => {
    const [a, b] = [await station(t, 'a'), await station(t, 'b')];
    const beat = envelope('a', 'b', heartbeat(1));
    a.transport.send({ id: 'b', address: b.address }, beat, 'control');
    await until('it has come', () => b.received.length === 1);
    await b.transport.close({ lingerMs: 0 });
    a.transport.forget('b');
    a.transport.send({ id: 'b', address: b.address }, beat, 'control');
    assert.equal(a.transport.stats().peers[0]?.sent, 0);
    assert.equal(a.transport.stats().sent.HEARTBEAT?.messages, 1);
  });
});
