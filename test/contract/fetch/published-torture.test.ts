/**
 * Plays the rows of the published torture table (`cases/http_torture.json` beside the repository)
 * that need only one fetch. Each must end as the table says, within the time-outs. Without the
 * table the test is skipped; `fetcher-rows.ts` has the repository's own rows.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { AddressGuard } from '../../../agent/fetch/address/address-guard.ts';
import { checkAddress } from '../../../agent/fetch/address/check-address.ts';
import type { Lookup } from '../../../agent/fetch/address/dial.ts';
import type { HttpFetcherOptions } from '../../../agent/fetch/client/http-fetcher.ts';
import type { Fetcher, FetchResult } from '../../../agent/fetch/fetch.ts';
import {
  createClient,
  forEachClient,
  OPEN_GUARD,
  request,
  SLACK_MS,
  toLoopback,
} from './harness.ts';
import { ScriptedServer, type Step } from './scripted-server.ts';
import {
  EXPIRED_CERTIFICATE,
  OTHER_HOST_CERTIFICATE,
  TEST_AUTHORITY,
  TEST_KEY,
  VALID_CERTIFICATE,
} from './test-certificates.ts';

interface TortureRow {
  readonly id: string;
  readonly category: string;
  readonly what: string;
  readonly steps: readonly (Step | { readonly net: string } | Record<string, unknown>)[];
  readonly expect: {
    readonly outcome: string;
    readonly status?: number;
    readonly to?: string;
    readonly storedBytes?: number;
    readonly maxRssGrowthMiB?: number;
  };
}

const FILE = new URL('../../../../shared/cases/http_torture.json', import.meta.url);
const rows: TortureRow[] = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : [];

const PLAYABLE = ['send', 'send_b64', 'repeat', 'randomBytes', 'close'];
const BODY_BYTES_MAX = 64 * 1024;
/** For rows that do not test the cap, so that their large bodies fit. */
const ROOMY_BODY_BYTES_MAX = 2 * 1024 * 1024;

/** The resolvers for the rows about names. */
const RESOLVERS: Record<string, Lookup> = {
  'DNS NXDOMAIN': async () => {
    throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
  },
  'DNS SERVFAIL / timeout': () => new Promise(() => {}),
  'DNS returns 0.0.0.0': async () => [{ address: '0.0.0.0', family: 4 }],
  'DNS 1000 A records': async () =>
    Array.from({ length: 1000 }, () => ({ address: '127.0.0.1', family: 4 as const })),
};

/** The certificates for the rows about TLS; empty if the server never answers. */
const CERTIFICATES: Record<string, string> = {
  'expired certificate': EXPIRED_CERTIFICATE,
  'wrong host name': OTHER_HOST_CERTIFICATE,
  'handshake stalls': '',
  'certificate chain of 1 MiB': VALID_CERTIFICATE + TEST_AUTHORITY.repeat(2400),
};

/** The reason for which a row is skipped, or null. */
function unplayable(row: TortureRow): string | null {
  const unknown = row.steps.flatMap((step) => Object.keys(step)).filter(isForeign);
  const [first] = row.steps;
  if (first !== undefined && 'net' in first) {
    return RESOLVERS[String(first.net)] === undefined ? `resolver for ${first.net}` : null;
  }
  if (first !== undefined && 'tls' in first) {
    return CERTIFICATES[String(first.tls)] === undefined ? `certificate for ${first.tls}` : null;
  }
  if (unknown.every((key) => key === 'cookieWall' || key === 'refuse')) {
    return null;
  }
  return unknown.length === 0
    ? null
    : `needs a whole crawl (torture-traps.test.ts): ${unknown.join()}`;
}

function isForeign(key: string): boolean {
  return ![...PLAYABLE, 'bytes', 'everyMs', 'delayMsPerKiB', 'net'].includes(key);
}

forEachClient(() => {
  describe('published torture rows', {
    concurrency: 4,
    skip: rows.length === 0 && 'no table',
  }, () => {
    for (const row of rows) {
      const reason = unplayable(row);
      test(`${row.id}: ${row.what}`, { skip: reason ?? false }, () => play(row));
    }
  });

  async function play(row: TortureRow): Promise<void> {
    const [first] = row.steps;
    if (first !== undefined && 'tls' in first) return playTls(row, String(first.tls));
    if (first !== undefined && 'cookieWall' in first) return playCookieWall(row);
    if (first !== undefined && 'refuse' in first) return playRefusals(row, Number(first.refuse));
    const net = first !== undefined && 'net' in first ? String(first.net) : null;
    const page = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
    const steps = net === null ? (row.steps as Step[]) : [{ send: page }];
    const server = await ScriptedServer.start(steps);
    const fetcher = createClient({
      userAgent: 'ubiring-test',
      timeouts: { connectMs: 1500, responseMs: 1500, totalMs: 3000 },
      guard: OPEN_GUARD,
      lookup: (net === null ? undefined : RESOLVERS[net]) ?? toLoopback,
      now: () => performance.timeOrigin + performance.now(),
      wallNow: () => Date.now(),
    });
    const capped = row.expect.storedBytes !== undefined;
    const startedAt = performance.now();
    try {
      const bodyBytesMax = capped ? BODY_BYTES_MAX : ROOMY_BODY_BYTES_MAX;
      const result = await fetcher.fetch(
        request(`http://server.test:${server.port}/start/page`, { bodyBytesMax }),
      );
      assert.ok(
        performance.now() - startedAt < 3000 + SLACK_MS,
        'the request ends within the time-outs',
      );
      await assertExpected(row, result);
      // Server and client share this process, so the sent bytes stand for the memory of the client.
      const sentMiB = server.written / 2 ** 20;
      assert.ok(sentMiB < (row.expect.maxRssGrowthMiB ?? 64), `${sentMiB} MiB were sent`);
    } finally {
      await fetcher.close();
      await server.stop();
    }
  }

  function fetcherOf(changes: Partial<HttpFetcherOptions> = {}): Fetcher {
    return createClient({
      userAgent: 'ubiring-test',
      timeouts: { connectMs: 1500, responseMs: 1500, totalMs: 3000 },
      guard: OPEN_GUARD,
      lookup: toLoopback,
      certificateAuthority: TEST_AUTHORITY,
      now: () => performance.timeOrigin + performance.now(),
      wallNow: () => Date.now(),
      ...changes,
    });
  }

  async function playTls(row: TortureRow, kind: string): Promise<void> {
    const cert = CERTIFICATES[kind]!;
    const sockets = new Set<Socket>();
    const server = cert === '' ? createServer() : createTlsServer({ cert, key: TEST_KEY });
    server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const fetcher = fetcherOf();
    const { port } = server.address() as AddressInfo;
    const startedAt = performance.now();
    const result = await fetcher.fetch(request(`https://127.0.0.1:${port}/`));
    assert.ok(performance.now() - startedAt < 1500 + SLACK_MS, 'the request ends within connectMs');
    const within = row.expect.outcome.replace(' within connectTimeout', '');
    await assertExpected({ ...row, expect: { ...row.expect, outcome: within } }, result);
    await fetcher.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  }

  /** Follows the redirect as a visit does, a limited number of times. */
  async function playCookieWall(row: TortureRow): Promise<void> {
    for (const cookies of [false, true]) {
      const server = createHttpServer((asked, answer) => {
        if (/\bpass=1/.test(asked.headers.cookie ?? '')) answer.end('inside');
        else answer.writeHead(302, { 'set-cookie': 'pass=1', location: asked.url ?? '/' }).end();
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const fetcher = fetcherOf({ cookies });
      const url = `http://server.test:${(server.address() as AddressInfo).port}/page`;
      const results: string[] = [];
      for (let hop = 0; hop < 3; hop++) results.push(outcomeOf(await fetcher.fetch(request(url))));
      assert.equal(
        results.at(-1),
        cookies ? 'ok' : 'redirect',
        'without cookies the redirect never ends',
      );
      assert.ok(row.expect.outcome.includes('ok'));
      await fetcher.close();
      server.closeAllConnections();
      server.close();
    }
  }

  /** The server starts to listen after some refused connections; the same fetcher then succeeds. */
  async function playRefusals(row: TortureRow, refusals: number): Promise<void> {
    const steps = row.steps.filter((step) => !('refuse' in step)) as Step[];
    const probe = await ScriptedServer.start(steps);
    const { port } = probe;
    await probe.stop();
    const fetcher = fetcherOf();
    const url = `http://server.test:${port}/`;
    for (let attempt = 0; attempt < refusals; attempt++) {
      const result = await fetcher.fetch(request(url));
      assert.equal(result.kind === 'failure' && result.code, 'connect_refused');
    }
    const server = await ScriptedServer.start(steps, '127.0.0.1', port);
    await assertExpected(row, await fetcher.fetch(request(url)));
    await fetcher.close();
    await server.stop();
  }

  async function assertExpected(row: TortureRow, result: FetchResult): Promise<void> {
    const { expect, category } = row;
    const outcomes = expect.outcome.split(/[|,]/).map((outcome) => outcome.trim());
    const got = outcomeOf(result);
    const shown = JSON.stringify({ ...result, body: undefined });
    if (category === 'redirect' && !outcomes.includes(got)) {
      // The table describes the whole crawler; one fetch returns the target and does not follow it.
      assert.ok(result.kind === 'response' && result.location !== null, shown);
      const target = URL.parse(result.location, 'http://server.test/start/page');
      const guard = new AddressGuard({ allowPrivate: false });
      const verdict = await checkAddress(target?.href ?? '', guard);
      assert.ok(
        verdict.blocked || result.location.startsWith('/'),
        'the target is checked before it is followed',
      );
      return;
    }
    assert.ok(outcomes.includes(got), `${got}, expected ${expect.outcome}: ${shown}`);
    if (expect.status !== undefined) {
      assert.equal(result.kind === 'response' && result.status, expect.status);
    }
    if (expect.storedBytes !== undefined) {
      assert.equal(result.kind === 'response' && result.body.byteLength, expect.storedBytes);
    }
    if (expect.to !== undefined) {
      const target = new URL(
        (result.kind === 'response' && result.location) || '',
        'http://server.test/start/page',
      );
      target.username = '';
      target.password = '';
      const form = expect.to.startsWith('/') ? target.pathname : target.href;
      assert.ok(expect.to.split('|').includes(form), `${form}, expected ${expect.to}`);
    }
  }

  /** The outcome of one fetch in the vocabulary of the table. */
  function outcomeOf(result: FetchResult): string {
    if (result.kind === 'failure') {
      return result.code === 'blocked_address' ? 'blocked' : 'error';
    }
    if (result.location !== null) {
      return 'redirect';
    }
    if (result.status >= 400) {
      return 'error';
    }
    return result.truncated ? 'ok-truncated' : 'ok';
  }
});
