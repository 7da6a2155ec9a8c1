import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { AddressGuard } from '../../../../agent/fetch/address/address-guard.ts';
import { DialError } from '../../../../agent/fetch/address/dial.ts';
import { createConnectionPool } from '../../../../agent/fetch/connection/connection-pool.ts';

const guard = new AddressGuard({ allowPrivate: true });
const settings = {
  ...{ guard, idleMax: 4, connectMs: 5000, idleMs: 1000 },
  ...{ verifyCertificates: true, offerHttp2: true, proxy: null, now: () => 0 },
};

test('connection pool: keeps nothing for unreachable hosts', async () => {
  const lookup = async () => [];
  const pool = createConnectionPool({ ...settings, lookup });
  for (const host of ['a.test', 'b.test', 'c.test']) {
    const request = http.get({ host, agent: pool.http });
    const [error] = await once(request, 'error').catch((failed: unknown) => [failed]);
    assert.ok(error instanceof DialError);
    assert.equal(error.code, 'dns');
  }
  assert.deepEqual(Object.keys(pool.http.sockets), []);
  pool.close();
});

test('connection pool: keeps nothing of a closed connection', async () => {
  const server = http.createServer((_request, answer) => answer.end('ok'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const lookup = async () => [{ address: '127.0.0.1', family: 4 as const }];
  const pool = createConnectionPool({ ...settings, lookup });
  const request = http.get({ host: 'a.test', port, agent: pool.http });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const { socket } = response;
  response.resume();
  await once(response, 'end');
  // The HTTP agent stores the socket again in the ticks after the end.
  await new Promise(setImmediate);
  assert.equal(Object.keys(pool.http.freeSockets).length, 1, 'kept while idle');
  socket.destroy();
  await once(socket, 'close');
  assert.deepEqual(Object.keys(pool.http.freeSockets), []);
  assert.deepEqual(Object.keys(pool.http.sockets), []);
  pool.close();
  server.close();
  await once(server, 'close');
});
