// Requests through an HTTP proxy: what the proxy receives, and which requests are refused before.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { AddressGuard } from '../../../agent/fetch/address/address-guard.ts';
import type { HttpFetcherOptions } from '../../../agent/fetch/client/http-fetcher.ts';
import {
  asFailure,
  asResponse,
  createClient,
  forEachClient,
  HASTY,
  OPEN_GUARD,
  request,
} from './harness.ts';
import { TEST_AUTHORITY, TEST_KEY, VALID_CERTIFICATE } from './test-certificates.ts';

/** Answers plain requests itself, and connects every tunnel to the port `tunnelTo`. */
async function startProxy(tunnelTo: number | null, status = 200) {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = http.createServer((asked, answer) => {
    heard.push(`${asked.method} ${asked.url} ${asked.headers['proxy-authorization'] ?? ''}`);
    answer.writeHead(status).end('through the proxy');
  });
  server.on('connection', (socket) => sockets.add(socket));
  server.on('connect', (asked, socket) => {
    heard.push(`CONNECT ${asked.url} ${asked.headers['proxy-authorization'] ?? ''}`);
    socket.on('error', () => {});
    if (tunnelTo === null) {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const onward = connect(tunnelTo, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket as Socket);
    });
    onward.on('error', () => {});
    sockets.add(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { port: (server.address() as AddressInfo).port, heard, stop };
}

function fetcherThrough(proxy: string, changes: Partial<HttpFetcherOptions> = {}) {
  return createClient({
    userAgent: 'ubiring-test',
    timeouts: HASTY,
    guard: OPEN_GUARD,
    lookup: () => assert.fail('a name was looked up'),
    certificateAuthority: TEST_AUTHORITY,
    now: () => performance.timeOrigin + performance.now(),
    wallNow: () => Date.now(),
    proxy,
    ...changes,
  });
}

forEachClient(() => {
  test('proxy: sends plain requests in absolute form and gives the password only to the proxy', async () => {
    const proxy = await startProxy(null);
    const fetcher = fetcherThrough(`http://me:p%40ss@127.0.0.1:${proxy.port}`, { keepRaw: true });
    const page = asResponse(await fetcher.fetch(request('http://far.test/page?q')));
    const secret = Buffer.from('me:p@ss').toString('base64');
    assert.deepEqual(proxy.heard, [`GET http://far.test/page?q Basic ${secret}`]);
    assert.equal(Buffer.from(page.body).toString(), 'through the proxy');
    assert.equal(page.ip, null, 'the address of the proxy is not the address of the host');
    assert.match(page.raw?.requestHead ?? '', /^GET \/page\?q HTTP\/1\.1\r\n/);
    assert.doesNotMatch(page.raw?.requestHead ?? '', /proxy/i);
    await fetcher.close();
    await proxy.stop();
  });

  test('proxy: uses a tunnel for https and verifies the certificate of the server', async () => {
    const server = createTlsServer({ key: TEST_KEY, cert: VALID_CERTIFICATE }, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    });
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = await startProxy((server.address() as AddressInfo).port);
    const fetcher = fetcherThrough(`http://127.0.0.1:${proxy.port}`);
    const page = asResponse(await fetcher.fetch(request('https://valid.test/')));
    assert.deepEqual([page.status, page.ip], [200, null]);
    assert.deepEqual(proxy.heard, ['CONNECT valid.test:443 ']);
    const wrong = asFailure(await fetcher.fetch(request('https://elsewhere.test/')));
    assert.equal(wrong.code, 'tls');
    await fetcher.close();
    await proxy.stop();
    server.close();
  });

  test('proxy: reports a refused tunnel and an unreachable proxy as failures', async () => {
    const proxy = await startProxy(null);
    const through = fetcherThrough(`http://127.0.0.1:${proxy.port}`);
    const failure = asFailure(await through.fetch(request('https://valid.test/')));
    assert.deepEqual([failure.code, failure.wrote], ['connect_failed', false]);
    await through.close();
    await proxy.stop();
    const nowhere = fetcherThrough(`http://127.0.0.1:${proxy.port}`);
    const refused = asFailure(await nowhere.fetch(request('https://valid.test/')));
    assert.equal(refused.code, 'connect_refused');
    await nowhere.close();
  });

  test('proxy: reports a proxy that requires a password as a connection failure', async () => {
    const proxy = await startProxy(null, 407);
    const through = fetcherThrough(`http://127.0.0.1:${proxy.port}`);
    const failure = asFailure(await through.fetch(request('http://far.test/robots.txt')));
    assert.equal(failure.code, 'connect_failed');
    await through.close();
    await proxy.stop();
  });

  test('proxy: applies the connect time-out to a tunnel that never opens', async () => {
    const silent = http.createServer();
    const sockets = new Set<Socket>();
    silent.on('connection', (socket) => sockets.add(socket));
    silent.on('connect', () => {});
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const fetcher = fetcherThrough(`http://127.0.0.1:${port}`);
    const failure = asFailure(await fetcher.fetch(request('https://valid.test/')));
    assert.equal(failure.code, 'connect_timeout');
    await fetcher.close();
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  test('proxy: blocks IP addresses and local names without a request to the proxy', async () => {
    const proxy = await startProxy(null);
    const guard = new AddressGuard({ allowPrivate: false, viaProxy: true });
    const fetcher = fetcherThrough(`http://127.0.0.1:${proxy.port}`, { guard });
    for (const host of ['8.8.8.8', '127.0.0.1', '[::1]', '0x7f.1', 'localhost', 'printer.local']) {
      const failure = asFailure(await fetcher.fetch(request(`http://${host}/`)));
      assert.equal(failure.code, 'blocked_address', host);
    }
    assert.deepEqual(proxy.heard, []);
    asResponse(await fetcher.fetch(request('http://far.test/')));
    await fetcher.close();
    await proxy.stop();
  });
});
