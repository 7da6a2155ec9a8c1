// The raw exchange that the fetcher keeps for the archive, compared with the bytes that the server
// received and sent: the request head and the response fields are unchanged, and the body has no
// transfer framing.

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
  test('raw exchange: keeps the request head byte for byte as it was sent', async () => {
    const kept = await fetched([{ send: `${plain}\r\nhello` }], '/a%20b?x=1&y');
    assert.equal(kept.raw.requestHead, kept.received);
    assert.match(kept.received, /^GET \/a%20b\?x=1&y HTTP\/1\.1\r\n/);
    assert.match(kept.received, /\r\naccept-encoding: gzip, deflate\r\n/i);
    assert.ok(!/secret|#part/.test(kept.raw.url), kept.raw.url);
  });

  test('raw exchange: keeps a malformed head, but renames fields that do not describe the stored body', async () => {
    const head = 'HTTP/1.2  200 OK\nX-A : 1\n\tmore\nno field\nContent-Length : 3\r\n';
    const chunks = '5\r\nhello\r\n0\r\n\r\n';
    const kept = await fetched([{ send: `${head}Transfer-Encoding\t: chunked\n\n${chunks}` }]);
    const renamed = head.replace('Content-L', 'X-Orig-Content-L');
    const received = `${renamed}X-Orig-Transfer-Encoding\t: chunked\n\n`;
    assert.equal(kept.raw.responseHead, received.replace(/\r?\n/g, '\r\n'));
    assert.deepEqual([kept.body, String(bodyOf(kept))], ['hello', 'hello']);
  });

  test('raw exchange: keeps the order, the spelling and the repetition of fields', async () => {
    const { raw } = await fetched([{ send: `${plain}\r\nhello` }]);
    assert.equal(
      raw.responseHead,
      'HTTP/1.1 200 Fine\r\ncontent-TYPE: text/html\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\n',
    );
    assert.equal(raw.truncated, null);
  });

  test('raw exchange: joins the chunks and renames the Transfer-Encoding field', async () => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    const kept = await fetched([{ send: `${head}3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n` }]);
    assert.equal(String(bodyOf(kept)), 'abcdefg');
    assert.match(kept.raw.responseHead, /\r\nX-Orig-Transfer-Encoding: chunked\r\n\r\n$/);
  });

  test('raw exchange: keeps the content coding of a body', async () => {
    const coded = gzipSync('hello, hello, hello');
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${coded.length}\r\n\r\n`;
    const answer = Buffer.concat([Buffer.from(head), coded]).toString('base64');
    const kept = await fetched([{ send_b64: answer }]);
    assert.equal(kept.body, 'hello, hello, hello');
    assert.deepEqual(bodyOf(kept), coded);
  });

  test('raw exchange: keeps the bytes of a header that is not UTF-8', async () => {
    const head = Buffer.from(
      'HTTP/1.1 200 OK\r\nX-Odd: \xe9\r\nContent-Length: 0\r\n\r\n',
      'latin1',
    );
    const { raw } = await fetched([{ send_b64: head.toString('base64') }]);
    assert.deepEqual(Buffer.from(raw.responseHead, 'latin1'), head);
  });

  test('raw exchange: records why a body is truncated', async () => {
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
