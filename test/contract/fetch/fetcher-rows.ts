/**
 * Scripted servers, with the outcome that every fetch adapter must report for each. Rows with
 * `code` end as a failure with one of the codes; rows with `status` end as a response.
 */

import zlib from 'node:zlib';
import type { FetchFailureCode } from '../../../agent/fetch/fetch.ts';
import type { Step } from './scripted-server.ts';

export interface FetcherRow {
  readonly claim: string;
  readonly steps: readonly Step[];
  readonly expect:
    | { readonly code: readonly FetchFailureCode[] }
    | {
        readonly status: number;
        readonly truncated?: boolean;
        readonly body?: string;
        readonly bodyLength?: number;
        readonly location?: string | null;
        readonly retryAfterMs?: number | null;
        readonly robotsTags?: readonly string[];
      };
  /** The connection may be kept in spite of the failure, because the message was complete. */
  readonly mayKeep?: true;
  /** The connection is closed after a good response, because the framing is ambiguous. */
  readonly closes?: true;
}

const LINK = '<a href="/next">n</a>';
const CHUNKED = `15\r\n${LINK}\r\n0\r\n\r\n`;
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
const HANG: Step = { close: 'hang' };
const FIN: Step = { close: 'fin' };
const RESET: Step = { close: 'reset' };

function send(text: string): Step {
  return { send: text };
}

function bytes(body: Uint8Array): Step {
  return { send_b64: Buffer.from(body).toString('base64') };
}

function coded(coding: string, body: Uint8Array): Step[] {
  const head = `${OK}Content-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`;
  return [send(head), bytes(body), HANG];
}

const whole = { status: 200, truncated: false, body: LINK } as const;
const gzipped = zlib.gzipSync(LINK);
const bomb = zlib.gzipSync(Buffer.alloc(64 * 1024 * 1024));
const damaged = Buffer.from(gzipped);
damaged.fill(0, gzipped.length - 8, gzipped.length - 4);

const TIMING: FetcherRow[] = [
  { claim: 'a server that never answers', steps: [HANG], expect: { code: ['response_timeout'] } },
  {
    claim: 'a header that arrives slowly',
    steps: [send('HTTP/1.1 200 OK\r\n'), { send: 'A: b\r\n', times: 200, everyMs: 50 }, HANG],
    expect: { code: ['response_timeout'] },
  },
  {
    claim: 'endless interim responses',
    steps: [{ send: 'HTTP/1.1 100 Continue\r\n\r\n', times: 200, everyMs: 50 }, HANG],
    expect: { code: ['response_timeout'] },
  },
  {
    claim: 'a body that arrives slowly but is never idle',
    steps: [send(`${OK}\r\n`), { send: '<p>', times: 400, everyMs: 50 }, HANG],
    expect: { code: ['total_timeout'] },
  },
  {
    claim: 'a body that stops without closing',
    steps: [send(`${OK}Content-Length: 50\r\n\r\n${LINK}`), HANG],
    expect: { code: ['total_timeout'] },
  },
  {
    claim: 'an incomplete error page keeps its status',
    steps: [send('HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\n1'), HANG],
    expect: { status: 503, truncated: true, body: '1', retryAfterMs: 7000 },
  },
];

const CUT: FetcherRow[] = [
  {
    claim: 'an endless body ends at the cap',
    steps: [send(`${OK}\r\n`), { repeat: LINK, bytes: 1e12 }],
    expect: { status: 200, truncated: true, bodyLength: 65536 },
  },
  ...[408, 421].map((status) => ({
    claim: `after ${status} the connection is closed, even if the body is complete`,
    steps: [send(`HTTP/1.1 ${status} No\r\nContent-Length: 3\r\n\r\nnot`), HANG],
    expect: { status, truncated: true, body: '' },
  })),
  {
    claim: 'an endless chunked body ends at the cap',
    steps: [
      send(`${OK}Transfer-Encoding: chunked\r\n\r\n`),
      { repeat: `15\r\n${LINK}\r\n`, bytes: 1e12 },
    ],
    expect: { status: 200, truncated: true, bodyLength: 65536 },
  },
  {
    claim: 'a body of exactly the cap is complete',
    steps: [send(`${OK}Content-Length: 65536\r\n\r\n`), { repeat: 'a', bytes: 65536 }, HANG],
    expect: { status: 200, truncated: false, bodyLength: 65536 },
  },
  {
    claim: 'a body of one byte more than the cap is truncated',
    steps: [send(`${OK}Content-Length: 65537\r\n\r\n`), { repeat: 'a', bytes: 65537 }, HANG],
    expect: { status: 200, truncated: true, bodyLength: 65536 },
  },
  {
    claim: 'a gzip bomb ends at the cap',
    mayKeep: true,
    steps: coded('gzip', bomb),
    expect: { status: 200, truncated: true, bodyLength: 65536 },
  },
  {
    claim: 'a bomb of two gzip layers ends at the cap',
    mayKeep: true,
    steps: coded('gzip, gzip', zlib.gzipSync(bomb)),
    expect: { status: 200, truncated: true, bodyLength: 65536 },
  },
  {
    claim: 'empty gzip members end at twice the cap on the wire',
    steps: [
      send(`${OK}Content-Encoding: gzip\r\n\r\n`),
      bytes(Buffer.concat(Array.from({ length: 8000 }, () => zlib.gzipSync('')))),
      FIN,
    ],
    expect: { status: 200, truncated: true, bodyLength: 0 },
  },
  {
    claim: 'only the first 16 KiB of a video are read',
    steps: [
      send('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 10485760\r\n\r\n'),
      { repeat: 'v', bytes: 10485760 },
    ],
    expect: { status: 200, truncated: true, bodyLength: 16384 },
  },
  {
    claim: 'a small image is read, and its connection is kept',
    steps: [
      send('HTTP/1.1 200 OK\r\nContent-Type: image/gif\r\nContent-Length: 3\r\n\r\nGIF'),
      HANG,
    ],
    expect: { status: 200, truncated: false, body: 'GIF' },
  },
];

const FRAMING: FetcherRow[] = [
  {
    claim: 'a body that ends before its length',
    steps: [send(`${OK}Content-Length: 50000\r\n\r\n${LINK}`), FIN],
    expect: { code: ['truncated_body'] },
  },
  {
    claim: 'a chunked body without its last chunk',
    steps: [send(`${OK}Transfer-Encoding: chunked\r\n\r\n15\r\n${LINK}\r\n`), FIN],
    expect: { code: ['truncated_body'] },
  },
  {
    claim: 'a reset within a body of known length',
    steps: [send(`${OK}Content-Length: 50000\r\n\r\n${LINK}`), { waitMs: 30 }, RESET],
    expect: { code: ['reset'] },
  },
  {
    claim: 'a reset within a body that ends with the connection',
    steps: [send(`${OK}\r\n${LINK}`), { waitMs: 30 }, RESET],
    expect: { code: ['reset'] },
  },
  { claim: 'a reset instead of an answer', steps: [RESET], expect: { code: ['reset'] } },
  { claim: 'a close instead of an answer', steps: [FIN], expect: { code: ['reset'] } },
  {
    claim: 'a close within the header',
    steps: [send('HTTP/1.1 200 OK\r\nContent-Ty'), FIN],
    expect: { code: ['reset', 'http_syntax'] },
  },
  {
    claim: 'a chunk size that is not a number',
    steps: [send(`${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\n${LINK}`), FIN],
    expect: { code: ['http_syntax'] },
  },
  ...['many', '-21', '99999999999999999999', ''].map((length) => ({
    claim: `an invalid length '${length}' is ignored, and the body ends with the connection`,
    steps: [send(`${OK}Content-Length: ${length}\r\n\r\n${LINK}`), { waitMs: 50 }, send(LINK), FIN],
    expect: { status: 200, truncated: false, body: LINK + LINK },
  })),
  {
    claim: 'two lengths that differ',
    steps: [send(`${OK}Content-Length: 3\r\nContent-Length: 21\r\n\r\n${LINK}`), FIN],
    expect: { code: ['http_syntax'] },
  },
  {
    claim: 'a length of 2^63 allocates nothing',
    steps: [send(`${OK}Content-Length: 9223372036854775807\r\n\r\n${LINK}`), FIN],
    expect: { code: ['truncated_body'] },
  },
  {
    claim: 'a body that ends with the connection',
    steps: [send(`HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n${LINK}`), FIN],
    expect: whole,
  },
  {
    claim: 'early hints before the answer',
    steps: [
      send(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}Content-Length: 21\r\n\r\n${LINK}`),
      HANG,
    ],
    expect: whole,
  },
];

const HEADERS: FetcherRow[] = [
  {
    claim: 'no status line (HTTP/0.9)',
    steps: [send(LINK), FIN],
    expect: { code: ['http_syntax'] },
  },
  ...['099 Odd', '000', '1000 Odd', '20 Odd'].map((status) => ({
    claim: `the status ${status}`,
    steps: [send(`HTTP/1.1 ${status}\r\nContent-Length: 21\r\n\r\n${LINK}`), HANG],
    expect: { code: ['http_syntax' as const] },
  })),
  {
    claim: 'a header of 1 MiB',
    steps: [send(OK), { repeat: 'X-Long: yyyyyyyyyyyyyyyyyyyyyyyy\r\n', bytes: 1 << 20 }, HANG],
    expect: { code: ['headers_too_large'] },
  },
  {
    claim: 'a control character in a header value',
    steps: [send(`${OK}X-A: a\u0001\u0000b\r\nContent-Length: 21\r\n\r\n${LINK}`), HANG],
    expect: { status: 200, body: LINK },
  },
  ...(
    [
      ['Content-Length with chunks', 'Content-Length: 3\r\nTransfer-Encoding: chunked', CHUNKED],
      ['two equal Content-Length fields', 'Content-Length: 21\r\nContent-Length: 21', LINK],
      ['Content-Length as a list', 'Content-Length: 21, 21', LINK],
      ['a length with a sign', 'Content-Length: +21', LINK],
      ['a length with a parameter', 'Content-Length: 21;x', LINK],
      ['a length of 20 digits', 'Content-Length: 00000000000000000021', LINK],
      ['bytes after a length with a sign', 'Content-Length: +21', `${LINK}HTTP/1.1 200 OK\r\n\r\n`],
      [
        'an invalid length together with chunks',
        'Content-Length: 5;x\r\nTransfer-Encoding: chunked',
        CHUNKED,
      ],
      ['a folded field', 'X-A: a\r\n\tb: c\r\nContent-Length: 21', LINK],
      ['a folded Content-Length', 'Content-Length:\r\n 21', LINK],
      ['a space before the colon', 'X-A : b\r\nContent-Length\t: 21', LINK],
      ['bytes after the body', 'Content-Length: 21', `${LINK}HTTP/1.1 200 OK\r\n\r\nother`],
      ['bytes after chunks', 'Transfer-Encoding: chunked', `${CHUNKED}HTTP/1.1 200 OK\r\n\r\n`],
      [
        'chunk lines that end in LF only',
        'Transfer-Encoding: chunked',
        CHUNKED.replaceAll('\r\n', '\n'),
      ],
      ['a space after a chunk size', 'Transfer-Encoding: chunked', CHUNKED.replace('\r', ' \r')],
      [
        'a control character in a trailer',
        'Transfer-Encoding: chunked',
        CHUNKED.replace(/\r\n$/, 'X: \u0001\r\n\r\n'),
      ],
      ['a line that is not a field', 'no field\r\nContent-Length: 21', LINK],
      ['a field name with a space', 'X A: b\r\nContent-Length: 21', LINK],
      ['chunked given twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', CHUNKED],
    ] as const
  ).map(([claim, fields, body]) => ({
    claim,
    steps: [send(`${OK}${fields}\r\n\r\n${body}`), HANG],
    expect: { status: 200, body: LINK },
    closes: true as const,
  })),
  {
    claim: 'header lines that end in LF only',
    steps: [send(`${OK}Content-Length: 21\r\n\r\n`.replaceAll('\r', '') + LINK), HANG],
    expect: { status: 200, body: LINK },
    closes: true,
  },
  {
    claim: 'an unsolicited response on the idle connection',
    steps: [
      send(`${OK}Content-Length: 21\r\n\r\n${LINK}`),
      { waitMs: 50 },
      send(`${OK}Content-Length: 4\r\n\r\nevil`),
      HANG,
    ],
    expect: { status: 200, body: LINK },
    closes: true,
  },
  {
    claim: 'lengths that differ',
    steps: [send(`${OK}Content-Length: 3\r\nContent-Length: 21\r\n\r\n${LINK}`), HANG],
    expect: { code: ['http_syntax'] },
  },
  ...(
    [
      ['another minor version', 'HTTP/1.2 200 OK', 'Content-Length: 21', LINK],
      ['two spaces in the status line', 'HTTP/1.1  200  OK', 'Content-Length: 21', LINK],
      ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK', 'Transfer-Encoding: chunked', CHUNKED],
      [
        'chunks in HTTP/1.0 with keep-alive',
        'HTTP/1.0 200 OK',
        'Connection: keep-alive\r\nTransfer-Encoding: chunked',
        CHUNKED,
      ],
    ] as const
  ).map(([claim, status, fields, body]) => ({
    claim,
    steps: [send(`${status}\r\n${fields}\r\n\r\n${body}`), HANG],
    expect: { status: 200, body: LINK },
    closes: true as const,
  })),
  {
    claim: 'a hundred interim responses',
    steps: [
      { send: 'HTTP/1.1 103 Early Hints\r\n\r\n', times: 100 },
      send(`${OK}Content-Length: 21\r\n\r\n${LINK}`),
      HANG,
    ],
    expect: { status: 200, body: LINK },
  },
  {
    claim: 'endless interim responses',
    steps: [{ repeat: 'HTTP/1.1 103 Early Hints\r\n\r\n', bytes: 1e12 }],
    expect: { code: ['http_syntax'] },
  },
  {
    claim: 'an unsolicited upgrade',
    steps: [
      send('HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
      HANG,
    ],
    expect: { code: ['http_syntax'] },
  },
  {
    claim: 'the fields of X-Robots-Tag are not joined',
    steps: [send(`HTTP/1.1 404 No\r\nX-Robots-Tag: a: b, c\r\nx-robots-tag: d\r\n\r\n`), FIN],
    expect: { status: 404, robotsTags: ['a: b, c', 'd'] },
  },
  {
    claim: 'a redirect is returned, not followed',
    steps: [send('HTTP/1.1 302 Found\r\nLocation: /b?c=1\r\nContent-Length: 0\r\n\r\n'), HANG],
    expect: { status: 302, location: '/b?c=1', body: '' },
  },
  {
    claim: 'a redirect with a truncated body is still a redirect',
    steps: [send('HTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Length: 50\r\n\r\nMoved'), FIN],
    expect: { status: 301, location: '/b', truncated: true },
  },
  {
    claim: 'a Location in raw UTF-8 is decoded as UTF-8',
    steps: [send('HTTP/1.1 302 Found\r\nLocation: /ü\r\nContent-Length: 0\r\n\r\n'), HANG],
    expect: { status: 302, location: '/ü' },
  },
  {
    claim: 'a Location is ignored if the status is not a redirect',
    steps: [send('HTTP/1.1 201 Created\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n'), HANG],
    expect: { status: 201, location: null },
  },
  {
    claim: '204 ends with the header and ignores what follows',
    steps: [send(`HTTP/1.1 204 No Content\r\nContent-Length: 21\r\n\r\n${LINK}`), HANG],
    expect: { status: 204, body: '', truncated: false },
    closes: true,
  },
  {
    claim: '204 with chunks ends with the header',
    steps: [send(`HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`), HANG],
    expect: { status: 204, body: '', truncated: false },
    closes: true,
  },
  {
    claim: '304 with a body ends with the header',
    steps: [send(`HTTP/1.1 304 Not Modified\r\nContent-Length: 21\r\n\r\n${LINK}`), HANG],
    expect: { status: 304, body: '', truncated: false },
    closes: true,
  },
  {
    claim: '304 ends with the header and ignores its length',
    steps: [send('HTTP/1.1 304 Not Modified\r\nContent-Length: 21\r\n\r\n'), HANG],
    expect: { status: 304, body: '', truncated: false },
  },
  {
    claim: 'a length of zero',
    steps: [send(`${OK}Content-Length: 0\r\n\r\n`), HANG],
    expect: { status: 200, body: '', truncated: false },
  },
  {
    claim: 'an endless error page ends at the cap with its status',
    steps: [send('HTTP/1.1 404 Not Found\r\n\r\n'), { repeat: 'x', bytes: 1e12 }],
    expect: { status: 404, truncated: true, bodyLength: 65536 },
  },
];

const CODINGS: FetcherRow[] = [
  { claim: 'gzip', steps: coded('gzip', gzipped), expect: whole },
  { claim: 'x-gzip', steps: coded('x-gzip', gzipped), expect: whole },
  { claim: 'br', steps: coded('br', zlib.brotliCompressSync(LINK)), expect: whole },
  { claim: 'zstd', steps: coded('zstd', zlib.zstdCompressSync(LINK)), expect: whole },
  {
    claim: 'deflate with zlib header',
    steps: coded('deflate', zlib.deflateSync(LINK)),
    expect: whole,
  },
  { claim: 'raw deflate', steps: coded('deflate', zlib.deflateRawSync(LINK)), expect: whole },
  { claim: 'gzip twice', steps: coded('gzip, gzip', zlib.gzipSync(gzipped)), expect: whole },
  { claim: 'plain text as gzip', steps: coded('gzip', Buffer.from(LINK)), expect: whole },
  {
    claim: 'an unknown coding is ignored',
    steps: coded('utf-8', Buffer.from(LINK)),
    expect: whole,
  },
  {
    claim: 'an empty body with a coding',
    steps: coded('gzip', Buffer.alloc(0)),
    expect: { status: 200, body: '' },
  },
  {
    claim: 'gzip without its trailer',
    steps: coded('gzip', gzipped.subarray(0, -8)),
    expect: whole,
  },
  {
    claim: 'gzip with half of its trailer',
    steps: coded('gzip', gzipped.subarray(0, -4)),
    expect: whole,
  },
  {
    claim: 'gzip followed by garbage',
    steps: coded('gzip', Buffer.concat([gzipped, Buffer.from('garbage garbage')])),
    expect: whole,
  },
  {
    claim: 'gzip followed by zeros',
    steps: coded('gzip', Buffer.concat([gzipped, Buffer.alloc(20)])),
    expect: whole,
  },
  {
    claim: 'gzip followed by garbage that arrives later',
    steps: [
      send(`${OK}Content-Encoding: gzip\r\nContent-Length: ${gzipped.length + 9}\r\n\r\n`),
      bytes(gzipped),
      { waitMs: 20 },
      send('garbage 1'),
      HANG,
    ],
    expect: whole,
  },
  {
    claim: 'gzip in two members',
    steps: coded(
      'gzip',
      Buffer.concat([zlib.gzipSync(LINK.slice(0, 5)), zlib.gzipSync(LINK.slice(5))]),
    ),
    expect: whole,
  },
  {
    claim: 'truncated gzip',
    mayKeep: true,
    steps: coded('gzip', gzipped.subarray(0, -9)),
    expect: { code: ['truncated_body'] },
  },
  {
    claim: 'truncated br',
    mayKeep: true,
    steps: coded('br', zlib.brotliCompressSync(LINK).subarray(0, -4)),
    expect: { code: ['truncated_body'] },
  },
  {
    claim: 'truncated zstd',
    mayKeep: true,
    steps: coded('zstd', zlib.zstdCompressSync(LINK).subarray(0, -4)),
    expect: { code: ['truncated_body'] },
  },
  {
    claim: 'gzip with a wrong checksum',
    mayKeep: true,
    steps: coded('gzip', damaged),
    expect: { code: ['body_encoding'] },
  },
  {
    claim: 'plain text as br',
    mayKeep: true,
    steps: coded('br', Buffer.from('<html>no brotli at all</html>')),
    expect: { code: ['body_encoding', 'truncated_body'] },
  },
];

export const FETCHER_ROWS: readonly FetcherRow[] = [
  ...TIMING,
  ...CUT,
  ...FRAMING,
  ...HEADERS,
  ...CODINGS,
];
