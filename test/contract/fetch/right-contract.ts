/**
 * The part of the fetch contract about requests that must stop: the fetch right is lost, the caller
 * aborts, or no connection can be made.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lookup } from '../../../agent/fetch/address/dial.ts';
import { fullBacklog } from './full-backlog.ts';
import {
  ANSWER,
  asFailure,
  asResponse,
  type CreateFetcher,
  HASTY,
  OPEN_GUARD,
  PATIENT,
  request,
  SLACK_MS,
  withServer,
} from './harness.ts';
import { ScriptedServer, type Step } from './scripted-server.ts';

export function rightRows(name: string, create: CreateFetcher): void {
  test(`${name}: writes no byte to a new connection without the fetch right`, () =>
    withServer(create, ANSWER, {}, async (fetcher, server, url) => {
      let asked = 0;
      const mayWrite = () => {
        asked++;
        return false;
      };
      const failure = asFailure(await fetcher.fetch(request(url, { mayWrite })));
      assert.deepEqual([failure.code, failure.wrote, asked], ['no_right', false, 1]);
      await server.allClosed(SLACK_MS);
      assert.deepEqual(server.received.join(''), '');
    }));

  test(`${name}: writes no second request to a reused connection without the fetch right`, () =>
    withServer(create, ANSWER, {}, async (fetcher, server, url) => {
      asResponse(await fetcher.fetch(request(url)));
      const mayWrite = () => false;
      const failure = asFailure(await fetcher.fetch(request(`${url}2`, { mayWrite })));
      assert.deepEqual([failure.code, failure.wrote], ['no_right', false]);
      await server.allClosed(SLACK_MS);
      assert.equal(server.received.length, 1, 'the connection was reused');
      assert.doesNotMatch(server.received.join(''), /page2/);
    }));

  test(`${name}: checks the fetch right once for each written request`, () =>
    withServer(create, ANSWER, {}, async (fetcher, _server, url) => {
      let asked = 0;
      asResponse(await fetcher.fetch(request(url, { mayWrite: () => ++asked > 0 })));
      assert.equal(asked, 1);
    }));
}

export function abortRows(name: string, create: CreateFetcher): void {
  const stalled: Step[] = [
    { send: 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart' },
    { close: 'hang' },
  ];

  test(`${name}: an abort within the body ends the request and its connection`, () =>
    withServer(create, stalled, {}, async (fetcher, server, url) => {
      const controller = new AbortController();
      const outcome = fetcher.fetch(request(url, { signal: controller.signal }));
      while (server.written === 0) {
        await new Promise(setImmediate);
      }
      controller.abort();
      const failure = asFailure(await outcome);
      assert.deepEqual([failure.code, failure.wrote], ['aborted', true]);
      await server.allClosed(SLACK_MS);
    }));

  test(`${name}: an abort before the call prevents the connection`, () =>
    withServer(create, ANSWER, {}, async (fetcher, server, url) => {
      const failure = asFailure(await fetcher.fetch(request(url, { signal: AbortSignal.abort() })));
      assert.deepEqual([failure.code, failure.wrote], ['aborted', false]);
      assert.equal(server.received.length, 0);
    }));

  test(`${name}: an abort during the name look-up ends the request`, () =>
    withServer(create, [], { lookup: () => new Promise(() => {}) }, async (fetcher) => {
      const controller = new AbortController();
      const outcome = fetcher.fetch(request('http://slow.test/', { signal: controller.signal }));
      setImmediate(() => controller.abort());
      const failure = asFailure(await outcome);
      assert.deepEqual([failure.code, failure.wrote], ['aborted', false]);
    }));

  test(`${name}: close aborts open requests and later ones`, () =>
    withServer(create, stalled, {}, async (fetcher, server, url) => {
      const outcome = fetcher.fetch(request(url));
      while (server.written === 0) {
        await new Promise(setImmediate);
      }
      await fetcher.close();
      assert.equal(asFailure(await outcome).code, 'aborted');
      assert.equal(asFailure(await fetcher.fetch(request(url))).code, 'aborted');
      await server.allClosed(SLACK_MS);
    }));
}

export function connectRows(name: string, create: CreateFetcher): void {
  test(`${name}: reports a refused connection`, async () => {
    const server = await ScriptedServer.start([]);
    const url = `http://127.0.0.1:${server.port}/`;
    await server.stop();
    const fetcher = create({ timeouts: PATIENT, guard: OPEN_GUARD });
    const failure = asFailure(await fetcher.fetch(request(url)));
    assert.deepEqual([failure.code, failure.wrote], ['connect_refused', false]);
    await fetcher.close();
  });

  test(`${name}: times out if the accept queue of the server is full`, async () => {
    const server = await fullBacklog();
    const fetcher = create({ timeouts: HASTY, guard: OPEN_GUARD });
    const failure = asFailure(await fetcher.fetch(request(`http://127.0.0.1:${server.port}/`)));
    assert.deepEqual([failure.code, failure.wrote], ['connect_timeout', false]);
    await fetcher.close();
    await server.stop();
  });

  test(`${name}: times out if the resolver never answers`, async () => {
    const lookup: Lookup = () => new Promise(() => {});
    const fetcher = create({ timeouts: HASTY, guard: OPEN_GUARD, lookup });
    const failure = asFailure(await fetcher.fetch(request('http://slow.test/')));
    assert.equal(failure.code, 'connect_timeout');
    await fetcher.close();
  });

  test(`${name}: reports a DNS failure for a name without address and for a failing resolver`, async () => {
    const lookup: Lookup = async (host) => {
      if (host === 'none.test') {
        return [];
      }
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    };
    const fetcher = create({ timeouts: PATIENT, guard: OPEN_GUARD, lookup });
    assert.equal(asFailure(await fetcher.fetch(request('http://none.test/'))).code, 'dns');
    assert.equal(asFailure(await fetcher.fetch(request('http://gone.test/'))).code, 'dns');
    await fetcher.close();
  });

  test(`${name}: reports a failure, not an exception, for a string that is not a web URL`, async () => {
    const fetcher = create({ timeouts: PATIENT, guard: OPEN_GUARD });
    for (const url of ['', 'http://', 'file:///etc/passwd', 'http://[::1', 'unix:/x:/']) {
      const failure = asFailure(await fetcher.fetch(request(url)));
      assert.deepEqual([failure.code, failure.wrote], ['unexpected', false], url);
    }
    await fetcher.close();
  });
}
