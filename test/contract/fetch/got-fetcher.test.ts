/** Runs the fetch contract on the got adapter, and tests its connection pool and proxy settings. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createGotFetcher } from '../../../agent/fetch/client/got-fetcher.ts';
import { fetcherContract } from './fetcher-contract.ts';
import {
  asResponse,
  type CreateFetcher,
  OPEN_GUARD,
  PATIENT,
  request,
  toLoopback,
} from './harness.ts';
import { ScriptedServer } from './scripted-server.ts';

const clock = {
  now: () => performance.timeOrigin + performance.now(),
  wallNow: () => Date.now(),
};

const createFetcher: CreateFetcher = (settings) =>
  createGotFetcher({ userAgent: 'ubiring-test', ...clock, ...settings });

fetcherContract('got fetcher', createFetcher);

test('got fetcher: limits the idle connections to all hosts and closes the oldest first', async () => {
  const server = createServer((_request, answer) => answer.end('ok'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  let opened = 0;
  server.on('connection', () => opened++);
  const { port } = server.address() as AddressInfo;
  const fetcher = createGotFetcher({
    userAgent: 'ubiring-test',
    timeouts: PATIENT,
    guard: OPEN_GUARD,
    lookup: toLoopback,
    idleConnectionsMax: 2,
    ...clock,
  });
  for (const last of [1, 2, 3]) {
    asResponse(await fetcher.fetch(request(`http://h${last}.test:${port}/`)));
  }
  asResponse(await fetcher.fetch(request(`http://h3.test:${port}/`)));
  asResponse(await fetcher.fetch(request(`http://h2.test:${port}/`)));
  assert.equal(opened, 3, 'the two newest connections were kept');
  asResponse(await fetcher.fetch(request(`http://h1.test:${port}/`)));
  assert.equal(opened, 4, 'the oldest connection was closed');
  await fetcher.close();
  server.close();
  await once(server, 'close');
});

test('got fetcher: closes an idle connection after idleMs', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
  const server = await ScriptedServer.start([{ send: head }, { close: 'hang' }]);
  const fetcher = createGotFetcher({
    userAgent: 'ubiring-test',
    timeouts: PATIENT,
    guard: OPEN_GUARD,
    idleMs: 50,
    ...clock,
  });
  asResponse(await fetcher.fetch(request(`http://127.0.0.1:${server.port}/`)));
  assert.equal(server.openConnections, 1);
  await server.allClosed(5000);
  await fetcher.close();
  await server.stop();
});

test('got fetcher: does not use a proxy from the environment', async (t) => {
  const server = await ScriptedServer.start([
    { send: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok' },
    { close: 'fin' },
  ]);
  t.after(() => server.stop());
  const program = `
    const { createGotFetcher } = await import(${JSON.stringify(module('client/got-fetcher.ts'))});
    const { AddressGuard } = await import(${JSON.stringify(module('address/address-guard.ts'))});
    const fetcher = createGotFetcher({
      userAgent: 'ubiring-test',
      timeouts: ${JSON.stringify(PATIENT)},
      guard: new AddressGuard({ allowPrivate: true }),
      now: () => 0,
      wallNow: () => 0,
    });
    const result = await fetcher.fetch({
      url: 'http://127.0.0.1:${server.port}/direct',
      kind: 'page',
      bodyBytesMax: 100,
      signal: new AbortController().signal,
      mayWrite: () => true,
    });
    console.log(result.kind);
    await fetcher.close();
  `;
  // Port 9 (discard) on loopback refuses connections.
  const proxy = 'http://127.0.0.1:9';
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, http_proxy: proxy },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  await once(child, 'close');
  assert.equal(printed.trim(), 'response');
  assert.match(server.received[0] ?? '', /^GET \/direct /);
});

function module(file: string): string {
  return new URL(`../../../agent/fetch/${file}`, import.meta.url).href;
}
