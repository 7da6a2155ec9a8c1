import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { filterHead, ResponseFilter } from '../../../../agent/fetch/connection/response-filter.ts';
import { readWarcBytes } from '../../archive/reading.ts';

const HEAD_BYTES_MAX = 16 * 1024;

/** What the parser receives when a connection receives the bytes in these pieces. */
function passed(pieces: readonly Uint8Array[]): { text: string; isOdd: boolean } {
  const filter = new ResponseFilter(HEAD_BYTES_MAX);
  const seen = pieces.map((piece) => filter.push(Buffer.from(piece)) ?? Buffer.alloc(0));
  const rest = filter.takePending() ?? Buffer.alloc(0);
  return { text: Buffer.concat([...seen, rest]).toString('latin1'), isOdd: filter.isOdd };
}

test('response filter: passes a strict response unchanged, in whatever pieces it arrives', () => {
  const text = 'HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nhello';
  fc.assert(
    fc.property(fc.array(fc.nat(text.length), { maxLength: 6 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), text.length];
      const bytes = Buffer.from(text);
      const pieces = at.slice(1).map((end, k) => bytes.subarray(at[k], end));
      assert.deepEqual(passed(pieces), { text, isOdd: false });
    }),
  );
});

test('response filter: drops everything after a body of known length', () => {
  const first = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  const second = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
  for (const pieces of [[first + second], [first, second], [`${first}H`, 'TTP/1.1 200 OK']]) {
    const { text, isOdd } = passed(pieces.map((piece) => Buffer.from(piece)));
    assert.deepEqual({ text, isOdd }, { text: first, isOdd: true });
  }
});

test('response filter: gives a malformed head the one meaning that RFC 9112 defines', () => {
  const start = 'HTTP/1.1 200 OK\r\n';
  for (const [fields, strict] of [
    ['Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', 'Transfer-Encoding: chunked\r\n'],
    ['Content-Length : 3\r\n Transfer-Encoding: x\r\n', null],
    ['Content-Length: 3, 3\r\nContent-Length: 3\r\n', 'Content-Length: 3\r\n'],
    ['Content-Length: +3\r\nContent-Length: 03;x\r\n', 'Content-Length: 3\r\n'],
    ['Content-Length: 99999999999999999999\r\n', ''],
    ['Content-Length: 0x3\r\nX: a\r\n', 'X: a\r\n'],
    ['Transfer-Encoding\t: chunked\r\n', 'Transfer-Encoding: chunked\r\n'],
    ['X: a\nTransfer-Encoding: chunked\n', 'X: a\r\nTransfer-Encoding: chunked\r\n'],
    ['Transfer-Encoding: identity\r\nContent-Length: 3\r\n', 'Content-Length: 3\r\n'],
    [
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: Chunked\r\n',
      'Transfer-Encoding: chunked\r\n',
    ],
    [
      'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n',
      'Transfer-Encoding: gzip, chunked\r\n',
    ],
    ['no field\r\nContent Length: 3\r\nX: a\r\n', 'X: a\r\n'],
    ['X: a\rTransfer-Encoding: chunked\r\n', 'X: a Transfer-Encoding: chunked\r\n'],
  ] as const) {
    const head = filterHead(`${start}${fields}\r\n`);
    assert.equal(head.isOdd, true, fields);
    if (strict !== null) assert.equal(head.text, `${start}${strict}\r\n`);
    else assert.equal(head.bodyBytes, Infinity, 'an invalid length delimits nothing');
  }
});

test('response filter: normalises the status lines that browsers accept', () => {
  const read = (line: string) => filterHead(`${line}\r\n\r\n`).text.split('\r\n', 1)[0];
  for (const [line, strict] of [
    ['HTTP/1.2 200 OK', 'HTTP/1.1 200 OK'],
    ['HTTP/2 200', 'HTTP/1.1 200 '],
    ['http/1.0  404  Not Found', 'HTTP/1.0 404 Not Found'],
    ['HTTP/1.1 2000 OK', 'HTTP/1.1 2000 OK'],
    ['ICY 200 OK', 'ICY 200 OK'],
  ] as const) {
    assert.equal(read(line), strict);
  }
});

const EVIL = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';

test('response filter: no malformed head lets a second response through', () => {
  const fields = [
    ...['Content-Length: 2', 'Content-Length : 2', 'Content-Length: 2, 2', 'Content-Length:\r\n 2'],
    ...['Content-Length: +2', 'Content-Length: 2;x', 'Content-Length: 002', 'Content-Length: many'],
    ...[
      'Transfer-Encoding: chunked',
      'Transfer-Encoding\t: Chunked',
      'Transfer-Encoding: identity',
    ],
    ...['X: \x01', 'no field', 'X: a\r\n\tb', 'Connection: keep-alive'],
  ];
  const head = fc.record({
    status: fc.constantFrom(
      'HTTP/1.1 200 OK',
      'HTTP/1.0 200 OK',
      'HTTP/1.2  204',
      'HTTP/1.1 304 No',
    ),
    lines: fc.uniqueArray(fc.constantFrom(...fields), { maxLength: 5 }),
    end: fc.constantFrom('\r\n', '\n'),
    cut: fc.nat(60),
  });
  fc.assert(
    fc.property(head, ({ status, lines, end, cut }) => {
      const text = [status, ...lines, '', ''].join(end);
      const { isChunked, bodyBytes } = filterHead(text);
      // A body that ends with the connection is one body, whatever it contains.
      if (!isChunked && bodyBytes === Infinity) return;
      const body = isChunked ? '2\r\nok\r\n0\r\n\r\n' : 'ok'.slice(0, bodyBytes);
      const whole = Buffer.from(text + body + EVIL, 'latin1');
      const seen = passed([whole.subarray(0, cut), whole.subarray(cut)]);
      assert.ok(!seen.text.includes('evil'), seen.text);
      assert.equal(seen.isOdd, true);
    }),
    { numRuns: 500 },
  );
});

test('response filter: passes a hundred interim responses, and rejects more', () => {
  const interim = Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100));
  assert.deepEqual(passed([interim]), { text: String(interim), isOdd: false });
  const { text, isOdd } = passed([interim, Buffer.from(`HTTP/1.1 100 Go\r\n\r\n${EVIL}`)]);
  assert.deepEqual(
    { rest: text.slice(interim.length), isOdd },
    {
      rest: 'too many interim responses\r\n\r\n',
      isOdd: true,
    },
  );
});

test('response filter: leaves contradictory lengths for the parser to refuse', () => {
  for (const other of ['4', '+4', 'many']) {
    const text = `HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: ${other}\r\n\r\n`;
    assert.equal(filterHead(text).text, text);
  }
});

test('response filter: expects another head after an interim response', () => {
  const interim = 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n';
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx';
  assert.deepEqual(passed([Buffer.from(interim + final)]), {
    text: interim + final,
    isOdd: false,
  });
});

test('response filter: passes or drops any bytes without an error', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (pieces) => {
      passed(pieces);
      passed([Buffer.from('HTTP/1.1 200 OK\r\n'), ...pieces]);
    }),
  );
});

test('response filter: readers of archives find the body after a head with bare LF line ends', async () => {
  const field = 'Content-Type: text/html';
  for (const [received, kept = received.replace(/\r?\n/g, '\r\n')] of [
    [`HTTP/1.1 200 OK\n${field}\nContent-Length: 6\n\n`],
    [`HTTP/1.1 200 OK\r\n${field}\r\nContent-Length: 6\r\n\n`],
    [`HTTP/1.1 200 OK\r\n${field}\nContent-Length: 6\n\r\n`],
    [
      `HTTP/1.1 200 OK\nX: a\rb\n\tfolded\n${field}\n\n`,
      `HTTP/1.1 200 OK\r\nX: a\rb\r\n\tfolded\r\n${field}\r\n\r\n`,
    ],
  ] as const) {
    const filter = new ResponseFilter(HEAD_BYTES_MAX);
    filter.push(Buffer.from(`${received}lfonly`, 'latin1'));
    assert.equal(filter.oddHead, kept);
    const http = `${filter.oddHead}lfonly`;
    const warc = [
      'WARC/1.1',
      'WARC-Type: response',
      'WARC-Target-URI: http://h.test/',
      'WARC-Date: 2025-01-01T00:00:00Z',
      'WARC-Record-ID: <urn:uuid:12345678-feed-4b1d-b1b7-0123456789ab>',
      'Content-Type: application/http; msgtype=response',
      `Content-Length: ${http.length}`,
    ].join('\r\n');
    const bytes = Buffer.from(`${warc}\r\n\r\n${http}\r\n\r\n`, 'latin1');
    const [record] = await readWarcBytes(bytes);
    assert.equal(String(record?.payload), 'lfonly', JSON.stringify(received));
    assert.equal(record?.fields['content-type'], 'text/html');
  }
});
