/**
 * The part of the fetch contract about requests: their form, kept connections, memory and leaks.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  ANSWER,
  asFailure,
  asResponse,
  type CreateFetcher,
  OPEN_GUARD,
  PATIENT,
  request,
  SLACK_MS,
  toLoopback,
  withServer,
} from './harness.ts';
import type { Step } from './scripted-server.ts';

/** Tests of kept connections that the server closes or misdirects. */
export function keptConnectionRows(name: string, create: CreateFetcher): void {
  test(`${name}: repeats a request once if the server has closed the kept connection`, async () => {
    let closed = 0;
    let now = 1e12;
    const script = (path: string): readonly Step[] => {
      if (path === '/closed') return ++closed === 1 ? [{ close: 'fin' }] : ANSWER;
      return path === '/dead' ? [{ close: 'reset' }] : ANSWER;
    };
    await withServer(create, script, { now: () => now }, async (fetcher, server, url) => {
      const ask = (path: string, mayWrite = () => true) =>
        fetcher.fetch(request(new URL(path, url).href, { mayWrite }));
      const timesDead = () => server.received.join('').split('GET /dead ').length - 1;
      let asked = 0;
      asResponse(await ask('/'));
      const again = asResponse(await ask('/closed', () => ++asked > 0));
      assert.equal(again.status, 200);
      assert.equal(asked, 2, 'the fetch right is checked before each of the two requests');
      assert.equal(server.received.length, 2, 'the repeat used a new connection');
      asResponse(await ask('/'));
      assert.equal(server.received.length, 3, 'the connection of the repeat was not kept');
      assert.equal(asFailure(await ask('/dead')).code, 'reset');
      assert.equal(timesDead(), 1, 'no repeat on a new connection');
      now += 600_000;
      asResponse(await ask('/'));
      assert.equal(asFailure(await ask('/dead')).code, 'reset');
      assert.equal(timesDead(), 3, 'after ten minutes connections are kept again');
    });
  });

  test(`${name}: does not reuse a connection after 421`, () =>
    withServer(
      create,
      [{ send: 'HTTP/1.1 421 Misdirected\r\nContent-Length: 0\r\n\r\n' }],
      {},
      async (fetcher, server, url) => {
        for (let n = 1; n <= 2; n++) {
          assert.equal(asResponse(await fetcher.fetch(request(url))).status, 421);
          assert.equal(server.received.length, n);
        }
      },
    ));
}

export function requestRows(name: string, create: CreateFetcher): void {
  test(`${name}: sends the URL unchanged in the request line, without userinfo`, () =>
    withServer(create, ANSWER, {}, async (fetcher, server) => {
      const path = '/a%2Fb/%zz/%7e?q=a+b|c&d=%u0041&&e';
      const url = `http://user:secret@127.0.0.1:${server.port}${path}#part`;
      asResponse(await fetcher.fetch(request(url)));
      const [line, ...headers] = (server.received[0] ?? '').split('\r\n');
      assert.equal(line, `GET ${path} HTTP/1.1`);
      const names = headers.map((header) => header.split(':')[0]?.toLowerCase());
      assert.ok(!names.includes('authorization') && !names.includes('cookie'), names.join());
      assert.ok(names.includes('user-agent') && names.includes('accept'), names.join());
      assert.ok(
        headers.includes('Accept-Encoding: gzip, deflate, br, zstd') ||
          headers.includes('accept-encoding: gzip, deflate, br, zstd'),
        headers.join(),
      );
    }));

  test(`${name}: keeps the question mark of an empty query`, () =>
    withServer(create, ANSWER, {}, async (fetcher, server) => {
      for (const [at, path] of ['/a?', '/?', '/a', '/a?#?', '/a#?'].entries()) {
        asResponse(await fetcher.fetch(request(`http://127.0.0.1:${server.port}${path}`)));
        const line = server.received.join('').split('GET ')[at + 1]!.split('\r\n')[0];
        assert.equal(line, `${path.split('#')[0]} HTTP/1.1`);
      }
    }));

  test(`${name}: does not send a cookie back by default`, async () => {
    const cookies: (string | undefined)[] = [];
    const server = createServer((incoming, answer) => {
      cookies.push(incoming.headers.cookie);
      answer.writeHead(302, { 'set-cookie': 'a=b', location: '/' }).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const fetcher = create({ timeouts: PATIENT, guard: OPEN_GUARD });
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    asResponse(await fetcher.fetch(request(url)));
    asResponse(await fetcher.fetch(request(url, { headers: { 'if-none-match': '"x"' } })));
    assert.deepEqual(cookies, [undefined, undefined]);
    await fetcher.close();
    server.close();
    await once(server, 'close');
  });

  test(`${name}: sends the given headers and reports the times of this request`, () =>
    withServer(create, ANSWER, {}, async (fetcher, server, url) => {
      const before = performance.timeOrigin + performance.now();
      const headers = { 'if-none-match': '"tag"' };
      const response = asResponse(await fetcher.fetch(request(url, { kind: 'robots', headers })));
      const now = performance.timeOrigin + performance.now();
      assert.match(server.received[0] ?? '', /if-none-match: "tag"/i);
      assert.ok(response.endedAt >= before && response.endedAt <= now);
      assert.ok(response.durationMs >= 0 && response.endedAt - response.durationMs >= before - 1);
      assert.deepEqual([response.contentType, response.bytes], ['text/html', 2]);
    }));

  test(`${name}: does not use unsolicited bytes on an idle connection as the next response`, () => {
    const ahead = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged';
    const steps: Step[] = [ANSWER[0]!, { waitMs: 20 }, { send: ahead }, { close: 'hang' }];
    return withServer(create, steps, {}, async (fetcher, server, url) => {
      asResponse(await fetcher.fetch(request(url)));
      await server.allClosed(SLACK_MS);
      const second = asResponse(await fetcher.fetch(request(`${url}2`)));
      assert.equal(Buffer.from(second.body).toString(), 'ok');
    });
  });
}

export function sizeRows(name: string, create: CreateFetcher): void {
  test(`${name}: reads a body of 1 GiB only up to its cap`, () => {
    const size = 2 ** 30;
    const steps: Step[] = [
      { send: `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${size}\r\n\r\n` },
      { repeat: '<a href="/next">n</a>', bytes: size },
    ];
    return withServer(create, steps, {}, async (fetcher, server, url) => {
      const response = asResponse(await fetcher.fetch(request(url, { bodyBytesMax: 2 ** 20 })));
      assert.deepEqual([response.truncated, response.body.byteLength], [true, 2 ** 20]);
      await server.allClosed(SLACK_MS);
      // The client cannot hold bytes that were never sent.
      assert.ok(server.written < 32 * 2 ** 20, `the server could send ${server.written} bytes`);
    });
  });

  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  after(() => process.off('warning', onWarning));

  test(`${name}: 2,000 requests leak neither memory nor listeners`, async () => {
    const server = createServer((incoming, answer) => answerByPath(incoming.url ?? '', answer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const fetcher = create({ timeouts: PATIENT, guard: OPEN_GUARD, lookup: toLoopback });
    const signal = new AbortController().signal;
    const run = async (count: number) => {
      for (let n = 0; n < count; n++) {
        // One host in eight refuses connections, since failed requests must not leak either.
        const dead = n % 8 === 7;
        const url = `http://h${n % 250}.test:${dead ? 1 : port}/${n % 4}`;
        const result = await fetcher.fetch(request(url, { signal, bodyBytesMax: 1000 }));
        assert.equal(result.kind, dead || n % 4 === 3 ? 'failure' : 'response');
      }
      return heapAfterCollection();
    };
    try {
      const before = await run(600);
      const grown = (await run(1400)) - before;
      assert.ok(grown < 1.5 * 2 ** 20, `the heap grew by ${grown} bytes`);
      assert.deepEqual(warnings.map(String), []);
    } finally {
      await fetcher.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  });
}

function answerByPath(path: string, answer: ServerResponse): void {
  switch (path) {
    case '/0':
      answer.writeHead(200, { 'content-type': 'text/html' }).end('short');
      return;
    case '/1':
      answer.writeHead(200, { 'content-type': 'text/html' }).end('x'.repeat(5000));
      return;
    case '/2':
      answer.writeHead(404).end();
      return;
    default:
      answer.writeHead(200, { 'content-length': '10' }).write('part');
      setImmediate(() => answer.destroy());
  }
}

async function heapAfterCollection(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let round = 0; round < 4; round++) {
    await new Promise(setImmediate);
    collect();
  }
  return process.memoryUsage().heapUsed;
}
