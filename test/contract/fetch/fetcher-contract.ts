/**
 * The contract of every fetch adapter, run against real sockets on loopback. The test file of an
 * adapter calls {@link fetcherContract} with a factory and may add tests of its own.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchResponse } from '../../../agent/fetch/fetch.ts';
import { addressRows, tlsRows } from './address-contract.ts';
import { FETCHER_ROWS, type FetcherRow } from './fetcher-rows.ts';
import {
  asFailure,
  asResponse,
  type CreateFetcher,
  HASTY,
  PATIENT,
  request,
  SLACK_MS,
  withServer,
} from './harness.ts';
import { keptConnectionRows, requestRows, sizeRows } from './request-contract.ts';
import { abortRows, connectRows, rightRows } from './right-contract.ts';

export function fetcherContract(name: string, create: CreateFetcher): void {
  describe(`${name}: rows`, { concurrency: 4 }, () => {
    for (const row of FETCHER_ROWS) {
      test(`${name}: ${row.claim}`, () => runRow(create, row));
    }
  });
  describe(`${name}: right, abort and time-outs`, () => {
    rightRows(name, create);
    abortRows(name, create);
    connectRows(name, create);
  });
  describe(`${name}: addresses and TLS`, () => {
    addressRows(name, create);
    tlsRows(name, create);
  });
  describe(`${name}: requests`, () => {
    requestRows(name, create);
    keptConnectionRows(name, create);
    sizeRows(name, create);
  });
}

async function runRow(create: CreateFetcher, row: FetcherRow): Promise<void> {
  const { expect } = row;
  const timed = 'code' in expect && expect.code.some((code) => code.endsWith('_timeout'));
  const timeouts = timed || 'retryAfterMs' in expect ? HASTY : PATIENT;
  await withServer(create, row.steps, { timeouts }, async (fetcher, server, url) => {
    const startedAt = performance.now();
    const result = await fetcher.fetch(request(url));
    assert.ok(
      performance.now() - startedAt < timeouts.totalMs + SLACK_MS,
      'the request ends in time',
    );
    if ('code' in expect) {
      const failure = asFailure(result);
      assert.ok(expect.code.includes(failure.code), `${failure.code}: ${failure.message}`);
      assert.equal(failure.wrote, true);
    } else {
      assertResponse(asResponse(result), expect);
    }
    assert.equal(server.received.length, 1, 'one request over one connection');
    const isBad = result.kind === 'failure' || result.truncated;
    if (row.closes || (row.mayKeep === undefined && isBad)) {
      await server.allClosed(SLACK_MS);
    }
  });
}

function assertResponse(
  response: FetchResponse,
  expect: Exclude<FetcherRow['expect'], { code: readonly unknown[] }>,
): void {
  assert.equal(response.status, expect.status);
  assert.equal(response.ip, '127.0.0.1');
  assert.equal(
    response.body.buffer.byteLength,
    response.body.byteLength,
    'the body owns its buffer',
  );
  if (expect.truncated !== undefined) {
    assert.equal(response.truncated, expect.truncated, 'truncated');
  }
  if (expect.body !== undefined) {
    assert.equal(Buffer.from(response.body).toString(), expect.body);
  }
  if (expect.bodyLength !== undefined) {
    assert.equal(response.body.byteLength, expect.bodyLength);
  }
  if (expect.location !== undefined) {
    assert.equal(response.location, expect.location);
  }
  if (expect.retryAfterMs !== undefined) {
    assert.equal(response.retryAfterMs, expect.retryAfterMs);
  }
  if (expect.robotsTags !== undefined) {
    assert.deepEqual(response.headers['x-robots-tag'], expect.robotsTags);
  }
}
