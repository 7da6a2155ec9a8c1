/** The part of the fetch contract about connections: blocked addresses and TLS. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { AddressGuard } from '../../../agent/fetch/address/address-guard.ts';
import type { Lookup } from '../../../agent/fetch/address/dial.ts';
import type { Fetcher } from '../../../agent/fetch/fetch.ts';
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
  toLoopback,
  withServer,
} from './harness.ts';
import { ScriptedServer } from './scripted-server.ts';
import {
  EXPIRED_CERTIFICATE,
  OTHER_HOST_CERTIFICATE,
  TEST_AUTHORITY,
  TEST_KEY,
  VALID_CERTIFICATE,
} from './test-certificates.ts';

const STRICT_GUARD = new AddressGuard({ allowPrivate: false });

/** Allows the first address and blocks all later ones, as if the address changed after look-up. */
class SecondThoughts extends AddressGuard {
  #asked = 0;

  constructor() {
    super({ allowPrivate: true });
  }

  override blocked(address: string): string | null {
    return this.#asked++ === 0 ? super.blocked(address) : 'changed';
  }
}

const neverAsked: Lookup = async () => {
  throw new Error('the name was looked up');
};

export function addressRows(name: string, create: CreateFetcher): void {
  const guard = STRICT_GUARD;
  test(`${name}: does not connect to a blocked address literal`, () =>
    withServer(create, ANSWER, { guard }, async (fetcher, server, url) => {
      for (const refused of [url, url.replace('127.0.0.1', '[::ffff:7f00:1]')]) {
        const failure = asFailure(await fetcher.fetch(request(refused)));
        assert.deepEqual([failure.code, failure.wrote], ['blocked_address', false]);
      }
      assert.equal(server.received.length, 0);
    }));

  test(`${name}: does not connect to a port of another protocol`, () =>
    withServer(create, ANSWER, { guard, lookup: neverAsked }, async (fetcher) => {
      for (const port of [22, 25, 6667]) {
        const failure = asFailure(await fetcher.fetch(request(`http://a.test:${port}/`)));
        assert.deepEqual([failure.code, failure.wrote], ['blocked_address', false]);
      }
    }));

  test(`${name}: does not connect to a name that resolves to a blocked address`, () =>
    withServer(create, ANSWER, { guard, lookup: toLoopback }, async (fetcher, server, url) => {
      const named = url.replace('127.0.0.1', 'public.test');
      assert.equal(asFailure(await fetcher.fetch(request(named))).code, 'blocked_address');
      assert.equal(server.received.length, 0);
    }));

  test(`${name}: writes no byte to a socket whose address is blocked after connecting`, () => {
    const settings = { guard: new SecondThoughts(), lookup: toLoopback };
    return withServer(create, ANSWER, settings, async (fetcher, server, url) => {
      const named = url.replace('127.0.0.1', 'public.test');
      const failure = asFailure(await fetcher.fetch(request(named)));
      assert.deepEqual([failure.code, failure.wrote], ['blocked_address', false]);
      await server.allClosed(SLACK_MS);
      assert.equal(server.received.join(''), '');
    });
  });

  test(`${name}: skips blocked addresses and connects to the next allowed one`, () => {
    const lookup: Lookup = async () => [
      { address: '0.0.0.0', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    return withServer(create, ANSWER, { lookup }, async (fetcher, _server, url) => {
      const named = url.replace('127.0.0.1', 'mixed.test');
      assert.equal(asResponse(await fetcher.fetch(request(named))).ip, '127.0.0.1');
    });
  });

  test(`${name}: reuses a connection only if it leads to the permitted address`, () =>
    withServer(create, ANSWER, {}, async (fetcher, server, url) => {
      const other = await ScriptedServer.start(ANSWER, '127.0.0.2', server.port);
      try {
        const named = url.replace('127.0.0.1', 'moved.test');
        for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.2']) {
          assert.equal(asResponse(await fetcher.fetch(request(named, { address }))).ip, address);
        }
        assert.equal(other.received.length, 1, 'a connection to the permitted address is reused');
      } finally {
        await other.stop();
      }
    }));

  test(`${name}: connects to a name with a thousand addresses`, () => {
    const lookup: Lookup = async () =>
      Array.from({ length: 1000 }, () => ({ address: '127.0.0.1', family: 4 as const }));
    return withServer(create, ANSWER, { lookup }, async (fetcher, _server, url) => {
      asResponse(await fetcher.fetch(request(url.replace('127.0.0.1', 'many.test'))));
    });
  });
}

/** Runs `use` with a TLS server that answers every request and records what it received. */
async function withTls(
  create: CreateFetcher,
  cert: string,
  use: (fetcher: Fetcher, url: string, heard: () => string, names: unknown[]) => Promise<void>,
): Promise<void> {
  let heard = '';
  const names: unknown[] = [];
  const sockets = new Set<Socket>();
  const server = createTlsServer({ cert, key: TEST_KEY }, (socket) => {
    sockets.add(socket);
    names.push((socket as TLSSocket & { servername?: unknown }).servername);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fetcher = create({
    timeouts: PATIENT,
    guard: OPEN_GUARD,
    lookup: toLoopback,
    certificateAuthority: TEST_AUTHORITY,
  });
  const { port } = server.address() as AddressInfo;
  try {
    await use(fetcher, `https://127.0.0.1:${port}/`, () => heard, names);
  } finally {
    await fetcher.close();
    for (const socket of sockets) {
      socket.destroy();
    }
    server.close();
    await once(server, 'close');
  }
}

export function tlsRows(name: string, create: CreateFetcher): void {
  test(`${name}: accepts a trusted certificate and reuses the connection`, () =>
    withTls(create, VALID_CERTIFICATE, async (fetcher, url, heard) => {
      const first = asResponse(await fetcher.fetch(request(url)));
      asResponse(await fetcher.fetch(request(`${url}second`)));
      assert.deepEqual([first.ip, Buffer.from(first.body).toString()], ['127.0.0.1', 'ok']);
      assert.match(heard(), /GET \/ [\s\S]*GET \/second /);
    }));

  test(`${name}: names the host to TLS without its trailing dot`, () =>
    withTls(create, VALID_CERTIFICATE, async (fetcher, url, heard, names) => {
      const dotted = url.replace('127.0.0.1', 'valid.test.');
      asResponse(await fetcher.fetch(request(dotted)));
      assert.deepEqual(names, ['valid.test']);
      assert.match(heard(), /\r\nhost: valid\.test\.:/i);
    }));

  test(`${name}: writes no request to a TLS connection without the fetch right`, () =>
    withTls(create, VALID_CERTIFICATE, async (fetcher, url, heard) => {
      const failure = asFailure(await fetcher.fetch(request(url, { mayWrite: () => false })));
      assert.deepEqual([failure.code, failure.wrote], ['no_right', false]);
      // When a second request is answered, the first one would have arrived, too.
      asResponse(await fetcher.fetch(request(`${url}later`)));
      assert.doesNotMatch(heard(), /GET \/ /);
    }));

  const refused = {
    'an expired certificate': EXPIRED_CERTIFICATE,
    'a certificate of another host': OTHER_HOST_CERTIFICATE,
    'a certificate chain of 1 MiB': VALID_CERTIFICATE + TEST_AUTHORITY.repeat(2400),
  };
  for (const [claim, cert] of Object.entries(refused)) {
    test(`${name}: refuses ${claim} before it writes the request`, () =>
      withTls(create, cert, async (fetcher, url, heard) => {
        const failure = asFailure(await fetcher.fetch(request(url)));
        assert.deepEqual([failure.code, failure.wrote], ['tls', false], failure.message);
        assert.equal(heard(), '');
      }));
  }

  test(`${name}: reports a TLS failure if the server does not use TLS`, () =>
    withServer(create, ANSWER, {}, async (fetcher, _server, url) => {
      const failure = asFailure(await fetcher.fetch(request(url.replace('http:', 'https:'))));
      assert.deepEqual([failure.code, failure.wrote], ['tls', false]);
    }));

  test(`${name}: times out if the TLS handshake stalls`, () =>
    withServer(create, [{ close: 'hang' }], { timeouts: HASTY }, async (fetcher, server, url) => {
      const failure = asFailure(await fetcher.fetch(request(url.replace('http:', 'https:'))));
      assert.deepEqual([failure.code, failure.wrote], ['connect_timeout', false]);
      await server.allClosed(SLACK_MS);
    }));

  test(`${name}: reports a TLS failure if the server closes during the handshake`, () =>
    withServer(create, [{ close: 'fin' }], {}, async (fetcher, _server, url) => {
      const failure = asFailure(await fetcher.fetch(request(url.replace('http:', 'https:'))));
      assert.deepEqual([failure.code, failure.wrote], ['tls', false]);
    }));
}
