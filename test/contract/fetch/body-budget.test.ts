// The fetcher pauses a body until the body budget grants memory for it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import zlib from 'node:zlib';
import { type BodyAccount, BodyBudget } from '../../../agent/fetch/body/body-budget.ts';
import {
  asFailure,
  asResponse,
  createClient,
  forEachClient,
  HASTY,
  OPEN_GUARD,
  request,
  withServer,
} from './harness.ts';
import { PAGE, play } from './http2-server.ts';
import type { Step } from './scripted-server.ts';

const MIB = 1024 ** 2;
const create = (settings: Parameters<Parameters<typeof withServer>[0]>[0]) =>
  createClient({
    userAgent: 'ubiring-test',
    now: () => performance.timeOrigin + performance.now(),
    wallNow: () => Date.now(),
    ...settings,
  });
const hasty = { timeouts: HASTY, guard: OPEN_GUARD };

/** An account that reports the first reservation and its maximum, and grants it on demand. */
function stubborn() {
  const asked = Promise.withResolvers<number>();
  let grant = () => {};
  let isOpen = false;
  const account: Pick<BodyAccount, 'reserve' | 'ended'> = {
    reserve: (_, holder) => {
      grant = () => {
        isOpen = true;
        holder.onGranted();
      };
      asked.resolve(holder.bytesMax);
      return isOpen;
    },
    ended: () => {},
  };
  return { account, asked: asked.promise, grant: () => grant() };
}

/** Waits for longer than the total time-out. */
const longWait = () => wait(HASTY.totalMs + 500);

const head = (fields: string) => `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n${fields}\r\n`;
const body = (bytes: number): Step => ({ repeat: 'x', bytes });
const known = (bytes: number): Step[] => [
  { send: head(`Content-Length: ${bytes}\r\n`) },
  body(bytes),
];

forEachClient(() => {
  test('body budget: a waiting body is not read, and its total time-out is paused', () =>
    withServer(create, known(64 * MIB), hasty, async (fetcher, server, url) => {
      const { account, asked, grant } = stubborn();
      const fetched = fetcher.fetch(request(url, { bodyBytesMax: 4 * MIB, account }));
      assert.equal(await asked, 4 * MIB);
      await longWait();
      // The server can write only what fits into the buffers of the kernel.
      assert.ok(server.written < 32 * MIB, `${server.written}`);
      grant();
      const response = asResponse(await fetched);
      assert.deepEqual([response.body.length, response.truncated], [4 * MIB, true]);
      assert.ok(response.durationMs < HASTY.totalMs, `${response.durationMs}`);
    }));

  test('body budget: the total time-out continues when reading starts', () => {
    const drip: Step = { repeat: 'x', bytes: 16 * MIB, delayMsPerKiB: 10 };
    const steps = [{ send: head('') }, body(1.5 * MIB), drip];
    return withServer(create, steps, hasty, async (fetcher, _server, url) => {
      const { account, asked, grant } = stubborn();
      const startedAt = performance.now();
      const fetched = fetcher.fetch(request(url, { bodyBytesMax: 32 * MIB, account }));
      await asked;
      await longWait();
      grant();
      const { code, durationMs } = asFailure(await fetched);
      assert.equal(code, 'total_timeout');
      const elapsedMs = performance.now() - startedAt;
      assert.ok(durationMs < elapsedMs - HASTY.totalMs, `${durationMs} of ${elapsedMs}`);
    });
  });

  test('body budget: a waiting body can be aborted', () =>
    withServer(create, known(8 * MIB), hasty, async (fetcher, server, url) => {
      const { account, asked, grant } = stubborn();
      const abort = new AbortController();
      const signal = abort.signal;
      const fetched = fetcher.fetch(request(url, { bodyBytesMax: 8 * MIB, account, signal }));
      await asked;
      abort.abort();
      assert.equal(asFailure(await fetched).code, 'aborted');
      // A grant may still arrive before the pipeline closes the account of the aborted body.
      grant();
      await server.allClosed(5000);
    }));

  test('body budget: the first 256 KiB are free, and the announced length limits the reservation', () =>
    withServer(
      create,
      (path) => known(path === '/free' ? MIB / 4 : 1.5 * MIB),
      hasty,
      async (fetcher, _server, url) => {
        const never = {
          reserve: () => assert.fail('memory was reserved for a free body'),
          ended: () => {},
        };
        const free = request(new URL('/free', url).href, {
          bodyBytesMax: 8 * MIB,
          account: never,
        });
        assert.equal(asResponse(await fetcher.fetch(free)).body.length, MIB / 4);
        const { account, asked, grant } = stubborn();
        const fetched = fetcher.fetch(request(url, { bodyBytesMax: 8 * MIB, account }));
        assert.equal(await asked, 1.5 * MIB);
        grant();
        assert.equal(asResponse(await fetched).truncated, false);
      },
    ));

  test('body budget: a waiting HTTP/2 stream does not block other streams', () =>
    play(
      (stream, path) => {
        if (path !== '/large') return PAGE(stream, path);
        stream.respond({ ':status': 200, 'content-type': 'text/html' });
        stream.end(Buffer.alloc(8 * MIB, 'x'));
      },
      async ({ fetcher, url, connections }) => {
        asResponse(await fetcher.fetch(request(url)));
        const { account, asked, grant } = stubborn();
        const large = fetcher.fetch(request(`${url}large`, { bodyBytesMax: 9 * MIB, account }));
        await asked;
        await longWait();
        for (let n = 0; n < 40; n++) asResponse(await fetcher.fetch(request(`${url}${n}`)));
        assert.equal(connections(), 1);
        grant();
        assert.equal(asResponse(await large).body.length, 8 * MIB);
      },
    ));

  test('body budget: slow bodies reserve only what has arrived, and other bodies are read meanwhile', () => {
    const drips: Step[] = [
      { send: head(`Content-Length: ${8 * MIB}\r\n`) },
      body(1.5 * MIB),
      { repeat: 'x', bytes: MIB, delayMsPerKiB: 1000 },
    ];
    const steps = (path: string) => (path === '/calm' ? known(2 * MIB) : drips);
    return withServer(create, steps, { guard: OPEN_GUARD }, async (fetcher, _server, url) => {
      const budget = new BodyBudget({ ordinaryBytesMax: 20 * MIB, largeBytesMax: 0 });
      const abort = new AbortController();
      const fetchOf = (path: string) => {
        const options = { bodyBytesMax: 8 * MIB, account: budget.open(), signal: abort.signal };
        return fetcher.fetch(request(new URL(path, url).href, options));
      };
      const dripping = Array.from({ length: 8 }, (_, k) => fetchOf(`/${k}`));
      while (budget.reserved < 8 * MIB) await wait(10);
      const isFirst = await Promise.race([fetchOf('/calm'), ...dripping]);
      assert.equal(asResponse(isFirst).body.length, 2 * MIB);
      abort.abort();
      for (const one of await Promise.all(dripping)) assert.equal(asFailure(one).code, 'aborted');
    });
  });

  test('body budget: many bodies share the budget, and each is read completely', () => {
    const coded = zlib.gzipSync(Buffer.alloc(5 * MIB, '<a href="/next">next</a>'));
    const steps = [
      { send: head(`Content-Encoding: gzip\r\nContent-Length: ${coded.length}\r\n`) },
      { send_b64: coded.toString('base64') },
    ];
    return withServer(create, steps, { guard: OPEN_GUARD }, async (fetcher, _server, url) => {
      const budget = new BodyBudget({ ordinaryBytesMax: 20 * MIB, largeBytesMax: 20 * MIB });
      let most = 0;
      const lengths = await Promise.all(
        Array.from({ length: 12 }, async () => {
          const account = budget.open();
          const options = { bodyBytesMax: 8 * MIB, account };
          const response = asResponse(await fetcher.fetch(request(url, options)));
          most = Math.max(most, budget.reserved);
          assert.ok(response.durationMs >= 0, `${response.durationMs}`);
          account.close();
          return response.body.length;
        }),
      );
      assert.deepEqual(new Set(lengths), new Set([5 * MIB]));
      // The bound, plus one body that is admitted when all wait for one another.
      assert.ok(most > 0 && most <= 20 * MIB + 5.5 * MIB, `${most}`);
      assert.deepEqual([budget.reserved, budget.waiting], [0, 0]);
    });
  });
});
