// Runs an HTTP/2 server and a fetcher for one test.

import { once } from 'node:events';
import http2, { type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { HttpFetcherOptions } from '../../../agent/fetch/client/http-fetcher.ts';
import type { Fetcher } from '../../../agent/fetch/fetch.ts';
import { createClient, HASTY, OPEN_GUARD } from './harness.ts';
import { TEST_AUTHORITY, TEST_KEY, VALID_CERTIFICATE } from './test-certificates.ts';

export type Answer = (stream: ServerHttp2Stream, path: string) => void;

export interface Playground {
  readonly fetcher: Fetcher;
  readonly url: string;
  /** The protocol version of each request, in order. */
  readonly spoken: string[];
  readonly paths: string[];
  readonly connections: () => number;
}

export const PAGE: Answer = (stream) => {
  stream.respond({ ':status': 200, 'content-type': 'text/html' });
  stream.end('<a href="/next">n</a>');
};

export async function play(
  answer: Answer,
  use: (place: Playground) => Promise<void>,
  changes: Partial<HttpFetcherOptions> & { readonly cert?: string } = {},
): Promise<void> {
  const { cert = VALID_CERTIFICATE, ...options } = changes;
  const server: Http2SecureServer = http2.createSecureServer({
    ...{ key: TEST_KEY, cert, allowHTTP1: true },
  });
  const sockets = new Set<Socket>();
  const spoken: string[] = [];
  const paths: string[] = [];
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('error', () => {});
  server.on('sessionError', () => {});
  server.on('request', ({ httpVersion }, response) => {
    spoken.push(httpVersion);
    if (httpVersion !== '1.1') return;
    // The next request then negotiates the protocol again.
    response.setHeader('connection', 'close');
    response.end('old');
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    paths.push(String(headers[':path']));
    answer(stream, String(headers[':path']));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fetcher = createClient({
    userAgent: 'ubiring-test',
    timeouts: HASTY,
    guard: OPEN_GUARD,
    certificateAuthority: TEST_AUTHORITY,
    now: () => performance.timeOrigin + performance.now(),
    wallNow: () => Date.now(),
    ...options,
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    await use({ fetcher, url, spoken, paths, connections: () => sockets.size });
  } finally {
    await fetcher.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  }
}
