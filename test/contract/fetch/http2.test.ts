// The fetcher with servers that choose HTTP/2, both correct and faulty ones.

import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { asFailure, asResponse, forEachClient, request } from './harness.ts';
import { type Answer, PAGE, play } from './http2-server.ts';
import { EXPIRED_CERTIFICATE } from './test-certificates.ts';

forEachClient(() => {
  test('http2: uses HTTP/2 if the server chooses it, on one connection per host', () =>
    play(PAGE, async ({ fetcher, url, spoken, paths, connections }) => {
      const first = asResponse(await fetcher.fetch(request(url)));
      const second = asResponse(await fetcher.fetch(request(`${url}second?q=1`)));
      assert.equal(Buffer.from(second.body).toString(), '<a href="/next">n</a>');
      assert.deepEqual(
        [first.status, first.ip, first.contentType],
        [200, '127.0.0.1', 'text/html'],
      );
      assert.deepEqual(
        [spoken, paths],
        [
          ['2.0', '2.0'],
          ['/', '/second?q=1'],
        ],
      );
      assert.equal(connections(), 1);
    }));

  test('http2: does not offer HTTP/2 if the config disables it', () =>
    play(
      PAGE,
      async ({ fetcher, url, spoken }) => {
        asResponse(await fetcher.fetch(request(url)));
        assert.deepEqual(spoken, ['1.1']);
      },
      { http2: false },
    ));

  test('http2: writes no request without the fetch right, and reuses the connection for the next one', () =>
    play(PAGE, async ({ fetcher, url, paths, connections }) => {
      const failure = asFailure(await fetcher.fetch(request(url, { mayWrite: () => false })));
      assert.deepEqual([failure.code, failure.wrote], ['no_right', false]);
      asResponse(await fetcher.fetch(request(`${url}later`)));
      assert.deepEqual([paths, connections()], [['/later'], 1]);
    }));

  test('http2: handles codings, redirects and statuses as in HTTP/1.1', () =>
    play(
      (stream, path) => {
        if (path === '/coded') {
          stream.respond({ ':status': 200, 'content-encoding': 'gzip' });
          stream.end(zlib.gzipSync('coded'));
        } else if (path === '/moved') {
          const fields = { location: '/ü', 'x-robots-tag': ['a: b', 'c'] };
          stream.respond({ ':status': 301, ...fields }, { endStream: true });
        } else {
          stream.additionalHeaders({ ':status': 103, link: '</a>; rel=preload' });
          stream.respond({ ':status': 503, 'retry-after': '2' }, { endStream: true });
        }
      },
      async ({ fetcher, url }) => {
        const coded = asResponse(await fetcher.fetch(request(`${url}coded`)));
        assert.equal(Buffer.from(coded.body).toString(), 'coded');
        const moved = asResponse(await fetcher.fetch(request(`${url}moved`)));
        assert.equal(moved.location, '/ü');
        assert.deepEqual(moved.headers['x-robots-tag'], ['a: b', 'c']);
        const later = asResponse(await fetcher.fetch(request(`${url}later`)));
        assert.deepEqual([later.status, later.retryAfterMs], [503, 2000]);
      },
    ));

  const broken: Record<string, { answer: Answer; code: string }> = {
    'a stream that is reset within the body': {
      answer: (stream) => {
        stream.respond({ ':status': 200 });
        stream.write('begun', () => stream.destroy(new Error('broken')));
      },
      code: 'reset',
    },
    'a request that is refused': {
      answer: (stream) => stream.close(http2.constants.NGHTTP2_REFUSED_STREAM),
      code: 'reset',
    },
    'a connection that closes within the body': {
      answer: (stream) => {
        stream.respond({ ':status': 200 });
        stream.write('begun', () => stream.session?.socket.destroy());
      },
      code: 'reset',
    },
    'a body shorter than declared': {
      answer: (stream) => {
        stream.respond({ ':status': 200, 'content-length': '100' });
        stream.end('short');
      },
      code: 'http_syntax',
    },
    'no answer': { answer: () => {}, code: 'response_timeout' },
    'a body that never ends': {
      answer: (stream) => {
        stream.respond({ ':status': 200 });
        stream.write('begun');
      },
      code: 'total_timeout',
    },
    'a header that is too large': {
      answer: (stream) => {
        stream.respond({ ':status': 200, 'x-long': 'x'.repeat(20_000) });
        stream.end('page');
      },
      code: 'headers_too_large',
    },
  };

  for (const [claim, { answer, code }] of Object.entries(broken)) {
    test(`http2: ${claim} ends as ${code}`, () =>
      play(answer, async ({ fetcher, url }) => {
        const failure = asFailure(await fetcher.fetch(request(url)));
        assert.deepEqual([failure.code, failure.wrote], [code, true], failure.message);
      }));
  }

  test('http2: truncates an endless body at the cap and reads no more than one window', () => {
    let sent = 0;
    return play(
      (stream) => {
        stream.respond({ ':status': 200 });
        const more = () => {
          while (!stream.destroyed && stream.write(Buffer.alloc(16_384, 'x'))) sent += 16_384;
        };
        stream.on('drain', more);
        more();
      },
      async ({ fetcher, url }) => {
        const page = asResponse(await fetcher.fetch(request(url, { bodyBytesMax: 100_000 })));
        assert.deepEqual([page.body.byteLength, page.truncated], [100_000, true]);
        assert.ok(sent < 2 ** 20, `${sent} bytes were sent`);
      },
    );
  });

  test('http2: replaces a connection after GOAWAY', () =>
    play(
      (stream, path) => {
        PAGE(stream, path);
        if (path === '/') stream.session?.close();
      },
      async ({ fetcher, url, connections, spoken }) => {
        asResponse(await fetcher.fetch(request(url)));
        // The frame may arrive with the body or after it, so only the retry must succeed.
        await fetcher.fetch(request(`${url}again`));
        asResponse(await fetcher.fetch(request(`${url}again`)));
        assert.equal(connections(), 2);
        assert.ok(spoken.every((version) => version === '2.0'));
      },
    ));

  test('http2: opens a new connection for the next request after 421', () =>
    play(
      (stream, path) =>
        path === '/' ? stream.respond({ ':status': 421 }, { endStream: true }) : PAGE(stream, path),
      async ({ fetcher, url, connections }) => {
        assert.equal(asResponse(await fetcher.fetch(request(url))).status, 421);
        assert.equal(asResponse(await fetcher.fetch(request(`${url}again`))).status, 200);
        assert.equal(connections(), 2);
      },
    ));

  test('http2: an abort ends the request at once and keeps the connection', () =>
    play(
      (stream, path) => (path === '/silent' ? undefined : PAGE(stream, path)),
      async ({ fetcher, url, connections }) => {
        const abort = new AbortController();
        const mayWrite = () => {
          setImmediate(() => abort.abort());
          return true;
        };
        const silent = request(`${url}silent`, { signal: abort.signal, mayWrite });
        assert.equal(asFailure(await fetcher.fetch(silent)).code, 'aborted');
        asResponse(await fetcher.fetch(request(url)));
        assert.equal(connections(), 1);
      },
    ));

  test('http2: limits the idle connections and closes the oldest first', () =>
    play(
      PAGE,
      async ({ fetcher, url, connections }) => {
        const { port } = new URL(url);
        const named = (host: string) => request(`https://${host}:${port}/`);
        asResponse(await fetcher.fetch(named('localhost')));
        asResponse(await fetcher.fetch(named('valid.test')));
        assert.equal(connections(), 2);
        asResponse(await fetcher.fetch(named('valid.test')));
        assert.equal(connections(), 2, 'the newer connection was kept');
        asResponse(await fetcher.fetch(named('localhost')));
        assert.equal(connections(), 3, 'the older connection was closed');
      },
      { idleConnectionsMax: 1, lookup: async () => [{ address: '127.0.0.1', family: 4 }] },
    ));

  test('http2: gives the archive heads in the form of HTTP/1.1', () =>
    play(
      PAGE,
      async ({ fetcher, url }) => {
        const { raw } = asResponse(await fetcher.fetch(request(`${url}page?q`)));
        assert.match(
          raw?.requestHead ?? '',
          /^GET \/page\?q HTTP\/1\.1\r\nhost: 127[\s\S]*\r\n\r\n$/,
        );
        assert.match(raw?.responseHead ?? '', /^HTTP\/1\.1 200 \r\ncontent-type: text\/html\r\n/);
        assert.equal(Buffer.concat(raw?.body ?? []).toString(), '<a href="/next">n</a>');
      },
      { keepRaw: true },
    ));

  test('tls: accepts an expired certificate if the config disables verification', () =>
    play(
      PAGE,
      async ({ fetcher, url }) => {
        asResponse(await fetcher.fetch(request(url)));
      },
      { cert: EXPIRED_CERTIFICATE, verifyCertificates: false },
    ));

  test('tls: sends the host name to the server as server name, but never an address', async () => {
    const names: unknown[] = [];
    await play(
      (stream, path) => {
        names.push(Reflect.get(stream.session?.socket ?? {}, 'servername'));
        PAGE(stream, path);
      },
      async ({ fetcher, url }) => {
        asResponse(await fetcher.fetch(request(url)));
        asResponse(await fetcher.fetch(request(url.replace('127.0.0.1', 'valid.test'))));
      },
      { lookup: async () => [{ address: '127.0.0.1', family: 4 }] },
    );
    assert.deepEqual(names, [false, 'valid.test']);
  });
});
