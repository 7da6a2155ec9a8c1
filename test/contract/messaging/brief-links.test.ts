// Brief links, on real sockets: short connections to addresses that a stranger has announced and
// that are not verified yet.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { Message } from '../../../agent/core/protocol/messages.ts';
import { envelope, heartbeat, type Station, station, until } from './kit.ts';

const BRIEF_LINKS_MAX = 32;
const address = 'tcp://127.0.0.1:7101';
const probe: Message = { type: 'PROBE', nonce: 'n', fingerprintHash: 'f', address };

/** Opens `count` addresses and records which ones were connected to. */
async function doors(t: TestContext, count: number) {
  const open = new Set<net.Socket>();
  const visited = new Set<number>();
  const servers = Array.from({ length: count }, (_, k) =>
    net.createServer((socket) => {
      visited.add(k);
      open.add(socket.on('error', () => {}));
      socket.on('close', () => open.delete(socket)).resume();
    }),
  );
  t.after(() => {
    for (const socket of open) socket.destroy();
    for (const server of servers) server.close();
  });
  const addresses = await Promise.all(
    servers.map(async (server) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.listen({ host: '127.0.0.1', port: 0 }, resolve);
      await promise;
      return `tcp://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
    }),
  );
  return { addresses, open, visited };
}

function briefly({ transport }: Station, id: string, address: string): void {
  transport.send({ id, address }, envelope('a', id, probe), 'control', true);
}

async function isListening(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address);
  const socket = net.connect({ host: hostname, port: Number(port) });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe('brief links', { concurrency: 2, timeout: 60_000 }, () => {
  it('brief links: the number of links is limited, and each link closes by itself', async (t) => {
    const a = await station(t, 'a');
    const { addresses, open, visited } = await doors(t, BRIEF_LINKS_MAX + 8);
    for (const [k, address] of addresses.entries()) briefly(a, `x${k}`, address);
    await until('all links are open', () => visited.size === BRIEF_LINKS_MAX);
    assert.equal(a.transport.stats().refused.unsendable, addresses.length - BRIEF_LINKS_MAX);
    assert.deepEqual(a.transport.stats().peers, []);
    await until('all links are closed', () => open.size === 0);
    const last = addresses.length - 1;
    briefly(a, 'x', addresses[last]!);
    await until('a new link is possible', () => visited.has(last));
  });

  it('brief links: a stranger does not replace the link or the address of a member', async (t) => {
    const [a, b, x] = [await station(t, 'a'), await station(t, 'b'), await station(t, 'x')];
    const member = { id: 'b', address: b.address };
    a.transport.send(member, envelope('a', 'b', heartbeat(1)), 'control');
    await until('the member has received a message', () => b.received.length === 1);
    briefly(a, 'b', x.address);
    await until('the stranger has received a probe', () => x.received.length === 1);
    assert.deepEqual(
      a.transport.stats().peers.map(({ id, address }) => ({ id, address })),
      [member],
    );
    a.transport.send(member, envelope('a', 'b', heartbeat(2)), 'control');
    await until('the member has received the second message', () => b.received.length === 2);
    assert.equal(x.received.length, 1);
  });

  it('brief links: at most one frame of each type waits for an address', async (t) => {
    // The link lasts until the other side listens, even on a busy machine.
    const [a, b] = [await station(t, 'a', { briefMs: 60_000 }), await station(t, 'b')];
    await b.transport.close({ lingerMs: 0 });
    // libzmq closes a socket with a delay; a frame that it still accepts would be lost.
    while (await isListening(b.address));
    for (let k = 0; k < 2000; k++) briefly(a, 'x', b.address);
    const again = await station(t, 'b', { listen: b.address });
    // The frame that the socket already had, and the newest one.
    await until('both frames have arrived', () => again.received.length === 2);
    a.transport.send({ id: 'b', address: b.address }, envelope('a', 'b', heartbeat(1)), 'control');
    await until('the later message has arrived', () => again.received.length === 3);
    assert.deepEqual(
      again.received.map(({ message }) => message.type),
      ['PROBE', 'PROBE', 'HEARTBEAT'],
    );
  });
});
