// The proxy that cuts links: which connections it cuts, and what happens to messages that it holds.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import { encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { callerOf } from '../../chaos/network-callers.ts';
import { NetworkProxy } from '../../chaos/network-proxy.ts';
import { until } from '../../integration/cli-process.ts';
import { Random } from '../../simulation/random.ts';

/** A message of this agent in ZMTP framing: one flag byte and one length byte come first. */
function saying(id: string): Buffer {
  const nobody = { id: '', inc: 0 };
  const message = { type: 'CONTROL', request: 1, verb: 'status', args: [] } as const;
  const encoded = encodeEnvelope({ from: { id, inc: 0 }, to: nobody, message });
  assert.ok(encoded.ok && encoded.frame.length < 256);
  return Buffer.concat([Buffer.from([0, encoded.frame.length]), encoded.frame]);
}

const greeting = Buffer.alloc(64, 7);

/** A server behind a proxy that records the bytes of each connection. */
async function behindProxy(t: TestContext) {
  const received: Buffer[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    const k = received.push(Buffer.alloc(0)) - 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.on('data', (data) => {
      received[k] = Buffer.concat([received[k]!, data]);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const proxy = await NetworkProxy.start((server.address() as net.AddressInfo).port, new Random(1));
  t.after(async () => {
    await proxy.stop();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const call = async (id: string) => {
    const socket = net.connect(Number(new URL(proxy.address).port), '127.0.0.1');
    t.after(() => socket.destroy());
    const ended = new Promise<void>((resolve) => {
      socket.on('error', () => {}).on('close', () => resolve());
    });
    socket.write(Buffer.concat([greeting, saying(id)]));
    return { socket, ended };
  };
  const heard = (id: string) => received.some((bytes) => bytes.includes(saying(id)));
  const greeted = () => received.filter((bytes) => bytes.length >= greeting.length).length;
  return { proxy, call, heard, greeted };
}

test('proxy: identifies the calling agent by the first message of a connection', () => {
  assert.equal(callerOf({ kind: 'message', bytes: saying('a2') }), 'a2');
  assert.equal(callerOf({ kind: 'message', bytes: saying('') }), '');
  assert.equal(callerOf({ kind: 'other', bytes: greeting }), null);
});

test('proxy: cuts one link, and still forwards other agents and command-line tools', async (t) => {
  const { proxy, call, heard, greeted } = await behindProxy(t);
  proxy.cuts = new Map([['a2', 60_000]]);
  for (const id of ['a2', 'a3', '']) await call(id);
  await until('messages of a3 and of a tool arrive', () => heard('a3') && heard(''));
  await until('the message of a2 is held', () => proxy.counts.cut > 0);
  assert.equal(greeted(), 3);
  assert.ok(!heard('a2'));
  proxy.cuts = new Map();
  await until('the held message arrives after the cut', () => heard('a2'));
});

test('proxy: resets a connection whose message was held for too long', async (t) => {
  const { proxy, call, heard } = await behindProxy(t);
  proxy.cuts = new Map([['a2', 50]]);
  const { ended } = await call('a2');
  await ended;
  assert.ok(proxy.counts.resets > 0 && !heard('a2'));
  proxy.cuts = new Map();
  await call('a2');
  await until('a message on a new connection arrives after the cut', () => heard('a2'));
});

test('proxy: cuts a connection that was already open', async (t) => {
  const { proxy, call, heard } = await behindProxy(t);
  const { socket, ended } = await call('a2');
  await until('the message before the cut arrives', () => heard('a2'));
  proxy.cuts = new Map([['a2', 0]]);
  socket.write(saying('a2'));
  await ended;
  assert.equal(proxy.counts.resets, 1);
});
