// Captures for the tests: exchanges with a server that does not exist.

import type { Capture } from '../../../agent/archive/record/capture.ts';

/** A complete, ordinary page of 2026-01-02, unless the test overrides parts of it. */
export function capture(part: Partial<Capture> = {}): Capture {
  const url = part.url ?? 'http://www.example.org/a?b=2&a=1';
  const { host, pathname, search } = new URL(url);
  return {
    url,
    ip: '192.0.2.1',
    startedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    requestHead: `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    responseHead: 'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Odd:  é\r\n\r\n',
    status: 200,
    contentType: 'text/html; charset=utf-8',
    truncated: null,
    metadata: [
      ['via', 'http://example.org/'],
      ['depth', '1'],
    ],
    ...part,
  };
}

export function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}
