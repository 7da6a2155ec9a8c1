// The exchange as the fetcher keeps it for the archive, against a server that notes every byte it
// was sent: the request's head is exactly that, the response's fields are those that came, and the
// body is what came without the framing of the transfer.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { RawExchange } from '../../agent/fetch/fetch.ts';
import { monotonicMs, wallMs } from '../../agent/runtime/clock.ts';
import { createClient, forEachClient, OPEN_GUARD, PATIENT, request } from './fetch/harness.ts';
import { ScriptedServer, type Step } from './fetch/scripted-server.ts';

interface Kept {
  readonly raw: RawExchange;
  readonly body: string;
  readonly received: string;
}

async function fetched(steps: readonly Step[], path = '/', bodyBytesMax = 1e6): Promise<Kept> {
  const server = await ScriptedServer.start(steps);
  const fetcher = createClient({
    userAgent: 'raw-test (+https://example.org/)',
    timeouts: { ...PATIENT, totalMs: 1500 },
    guard: OPEN_GUARD,
    now: monotonicMs,
    wallNow: wallMs,
    keepRaw: true,
  });
  try {
    const url = `http://user:secret@127.0.0.1:${server.port}${path}#part`;
    const result = await fetcher.fetch(request(url, { bodyBytesMax }));
    assert.equal(result.kind, 'response', JSON.stringify(result));
    const { raw, body } = result;
    assert.ok(raw);
    return { raw, body: String(Buffer.from(body)), received: server.received[0] ?? '' };
  } finally {
    await fetcher.close();
    await server.stop();
  }
}

function bodyOf({ raw }: Kept): Buffer {
  return Buffer.concat(raw.body);
}

const plain =
  'HTTP/1.1 200 Fine\r\ncontent-TYPE: text/html\r\nX-A: 1\r\nx-a:  2 \r\nContent-Length: 5\r\n';

forEachClient(() => {
  test('raw exchange: the request is what the server was sent, byte for byte', async () => {
    const kept = await fetched([{ send: `${plain}\r\nhello` }], '/a%20b?x=1&y');
    assert.equal(kept.raw.requestHead, kept.received);
    assert.match(kept.received, /^GET \/a%20b\?x=1&y HTTP\/1\.1\r\n/);
    assert.match(kept.received, /\r\naccept-encoding: gzip, deflate\r\n/i);
    assert.ok(!/secret|#part/.test(kept.raw.url), kept.raw.url);
  });

  test('raw exchange: an odd head is kept as it came, but for what is not true of the body', async () => {
    const head = 'HTTP/1.2  200 OK\nX-A : 1\n\tmore\nno field\nContent-Length : 3\r\n';
    const chunks = '5\r\nhello\r\n0\r\n\r\n';
    const kept = await fetched([{ send: `${head}Transfer-Encoding\t: chunked\n\n${chunks}` }]);
    const renamed = head.replace('Content-L', 'X-Orig-Content-L');
    assert.equal(kept.raw.responseHead, `${renamed}X-Orig-Transfer-Encoding\t: chunked\n\n`);
    assert.deepEqual([kept.body, String(bodyOf(kept))], ['hello', 'hello']);
  });

  test('raw exchange: fields keep their order, their spelling and their repetitions', async () => {
    const { raw } = await fetched([{ send: `${plain}\r\nhello` }]);
    assert.equal(
      raw.responseHead,
      'HTTP/1.1 200 Fine\r\ncontent-TYPE: text/html\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\n',
    );
    assert.equal(raw.truncated, null);
  });

  test('raw exchange: chunks are joined, and the field that told of them says so', async () => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    const kept = await fetched([{ send: `${head}3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n` }]);
    assert.equal(String(bodyOf(kept)), 'abcdefg');
    assert.match(kept.raw.responseHead, /\r\nX-Orig-Transfer-Encoding: chunked\r\n\r\n$/);
  });

  test('raw exchange: a coded body stays coded', async () => {
    const coded = gzipSync('hello, hello, hello');
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${coded.length}\r\n\r\n`;
    const answer = Buffer.concat([Buffer.from(head), coded]).toString('base64');
    const kept = await fetched([{ send_b64: answer }]);
    assert.equal(kept.body, 'hello, hello, hello');
    assert.deepEqual(bodyOf(kept), coded);
  });

  test('raw exchange: a header that is no UTF-8 keeps its bytes', async () => {
    const head = Buffer.from(
      'HTTP/1.1 200 OK\r\nX-Odd: \xe9\r\nContent-Length: 0\r\n\r\n',
      'latin1',
    );
    const { raw } = await fetched([{ send_b64: head.toString('base64') }]);
    assert.deepEqual(Buffer.from(raw.responseHead, 'latin1'), head);
  });

  test('raw exchange: why a body ends early is told', async () => {
    const long = 'HTTP/1.1 404 Gone\r\nContent-Length: 9000\r\n\r\n';
    const cut = await fetched([{ send: `${long}${'x'.repeat(9000)}` }], '/', 1000);
    assert.equal(cut.raw.truncated, 'length');
    assert.ok(bodyOf(cut).length >= 1000);
    const broken = await fetched([{ send: `${long}abc` }, { waitMs: 50 }, { close: 'fin' }]);
    assert.equal(broken.raw.truncated, 'disconnect');
    assert.equal(String(bodyOf(broken)), 'abc');
    const slow = await fetched([{ send: `${long}abc` }, { close: 'hang' }]);
    assert.equal(slow.raw.truncated, 'time');
  });
});
