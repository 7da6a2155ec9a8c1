// Options of the config about requests: cookies, and the content types to read.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpFetcherOptions } from '../../../agent/fetch/client/http-fetcher.ts';
import {
  asResponse,
  createClient,
  forEachClient,
  OPEN_GUARD,
  PATIENT,
  request,
  SLACK_MS,
} from './harness.ts';
import { ScriptedServer, type Step } from './scripted-server.ts';

function fetcherWith(changes: Partial<HttpFetcherOptions>) {
  return createClient({
    userAgent: 'ubiring-test',
    timeouts: PATIENT,
    guard: OPEN_GUARD,
    now: () => performance.timeOrigin + performance.now(),
    wallNow: () => Date.now(),
    ...changes,
  });
}

function page(type: string, length = 2): Step[] {
  const head = `HTTP/1.1 200 OK\r\n${type}Content-Length: ${length}\r\n\r\n`;
  return [{ send: `${head}ok` }, { close: 'hang' }];
}

const COOKIE = 'Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2; Path=/other\r\n';

for (const [cookies, claim, sent] of [
  [true, 'are sent back if the config enables them', /\r\ncookie: a=1\r\n/i],
  [false, 'are not sent by default', /^(?![\s\S]*cookie:)/i],
] as const) {
  test(`fetch: cookies ${claim}`, async () => {
    const head = `HTTP/1.1 200 OK\r\nConnection: close\r\n${COOKIE}Content-Length: 0\r\n\r\n`;
    const server = await ScriptedServer.start([{ send: head }, { close: 'fin' }]);
    const fetcher = fetcherWith({ cookies });
    const url = `http://127.0.0.1:${server.port}/page`;
    asResponse(await fetcher.fetch(request(url)));
    asResponse(await fetcher.fetch(request(url)));
    assert.match(server.received[1] ?? '', sent);
    await fetcher.close();
    await server.stop();
  });
}

forEachClient(() => {
  test('fetch: closes the connection after the header of a page of an unwanted type', async () => {
    const server = await ScriptedServer.start(page('Content-Type: video/mp4\r\n', 10 ** 9));
    const fetcher = fetcherWith({ contentTypes: ['text/*'] });
    const url = `http://127.0.0.1:${server.port}/film`;
    const film = asResponse(await fetcher.fetch(request(url)));
    assert.deepEqual(
      [film.status, film.skipped, film.truncated, film.body.byteLength],
      [200, 'type', true, 0],
    );
    await server.allClosed(SLACK_MS);
    await fetcher.close();
    await server.stop();
  });

  for (const [claim, type, kind] of [
    ['of a wanted type', 'Content-Type: TEXT/html; charset=x\r\n', 'page'],
    ['with a parameter after a space', 'Content-Type: text/html charset=x\r\n', 'page'],
    ['without a type', '', 'page'],
    ['that is a robots.txt', 'Content-Type: application/octet-stream\r\n', 'robots'],
  ] as const) {
    test(`fetch: reads a response ${claim}`, async () => {
      const server = await ScriptedServer.start(page(type));
      const fetcher = fetcherWith({ contentTypes: ['text/html'] });
      const url = `http://127.0.0.1:${server.port}/`;
      const read = asResponse(await fetcher.fetch(request(url, { kind })));
      assert.deepEqual([read.skipped, Buffer.from(read.body).toString()], [null, 'ok']);
      await fetcher.close();
      await server.stop();
    });
  }
});
