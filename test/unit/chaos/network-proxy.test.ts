// The proxy that cuts links: whose connection is cut, and what becomes of what was held.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import { encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { callerOf } from '../../chaos/network-callers.ts';
import { NetworkProxy } from '../../chaos/network-proxy.ts';
import { until } from '../../integration/cli-process.ts';
import { Random } from '../../simulation/random.ts';

/** As ZMTP frames it: one flag, one byte of length. */
function saying(id: string): Buffer {
  const nobody = { id: '', inc: 0 };
  const message = { type: 'CONTROL', request: 1, verb: 'status', args: [] } as const;
  const encoded = encodeEnvelope({ from: { id, inc: 0 }, to: nobody, message });
  assert.ok(encoded.ok && encoded.frame.length < 256);
  return Buffer.concat([Buffer.from([0, encoded.frame.length]), encoded.frame]);
}

const greeting = Buffer.alloc(64, 7);

/** An agent that notes the connections' bytes, behind a proxy. */
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

test('proxy: the first message of a connection tells who calls', () => {
  assert.equal(callerOf({ kind: 'message', bytes: saying('a2') }), 'a2');
  assert.equal(callerOf({ kind: 'message', bytes: saying('') }), '');
  assert.equal(callerOf({ kind: 'other', bytes: greeting }), null);
});

test('proxy: one link is cut, the others and command-line tools are heard', async (t) => {
  const { proxy, call, heard, greeted } = await behindProxy(t);
  proxy.cuts = new Map([['a2', 60_000]]);
  for (const id of ['a2', 'a3', '']) await call(id);
  await until('a3 and a tool are heard', () => heard('a3') && heard(''));
  await until('the message of a2 is held', () => proxy.counts.cut > 0);
  assert.equal(greeted(), 3);
  assert.ok(!heard('a2'));
  proxy.cuts = new Map();
  await until('what was held comes when the cut is over', () => heard('a2'));
});

test('proxy: what was held for too long is lost with its connection', async (t) => {
  const { proxy, call, heard } = await behindProxy(t);
  proxy.cuts = new Map([['a2', 50]]);
  const { ended } = await call('a2');
  await ended;
  assert.ok(proxy.counts.resets > 0 && !heard('a2'));
  proxy.cuts = new Map();
  await call('a2');
  await until('a new connection is heard after the cut', () => heard('a2'));
});

test('proxy: an open connection is cut and healed as a new one is', async (t) => {
  const { proxy, call, heard } = await behindProxy(t);
  const { socket, ended } = await call('a2');
  await until('heard before', () => heard('a2'));
  proxy.cuts = new Map([['a2', 0]]);
  socket.write(saying('a2'));
  await ended;
  assert.equal(proxy.counts.resets, 1);
});
