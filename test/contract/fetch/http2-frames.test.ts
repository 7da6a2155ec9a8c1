// Frames that Node's HTTP/2 server would not send, on real sockets: a body in frames of one byte, of
// which one turn of the event loop may process only a bounded number, and a response without body
// whose stream does not end.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import tls from 'node:tls';
import type { BodyStream } from '../../../agent/fetch/connection/call.ts';
import { Http2Call } from '../../../agent/fetch/connection/http2-call.ts';
import { Http2Sessions } from '../../../agent/fetch/connection/http2-sessions.ts';
import { TEST_KEY, VALID_CERTIFICATE } from './test-certificates.ts';

/** Below the initial window of the connection, so that the server can ignore window updates. */
const FRAMES = 60_000;
/** A read of 64 KiB has 6,554 frames of one byte; one turn may have two reads. */
const TURN_FRAMES_MAX = 16_384;

const SETTINGS = 4;
const HEADERS = 1;
const RST_STREAM = 3;
const DATA = 0;
const END_STREAM = 1;
const END_HEADERS = 4;

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const NONE = Buffer.alloc(0);
// Indexes 8 and 9 of the static table: ":status: 200" and ":status: 204".
const OK = frame(HEADERS, END_HEADERS, 1, Buffer.from([0x88]));
const NO_CONTENT = frame(HEADERS, END_HEADERS, 1, Buffer.from([0x89]));

/** Whether a frame of the type has arrived after the preface of 24 bytes. */
function hasFrame(read: Buffer, type: number): boolean {
  for (let at = 24; at + 9 <= read.length; at += 9 + read.readUIntBE(at, 3)) {
    if (read[at + 3] === type) return true;
  }
  return false;
}

interface Played {
  readonly server: tls.Server;
  readonly port: number;
  /** The client has reset the stream of its request. */
  readonly reset: Promise<void>;
}

/** Answers the first request with `answer` in one write. */
async function serve(answer: Buffer): Promise<Played> {
  const reset = Promise.withResolvers<void>();
  const options = { key: TEST_KEY, cert: VALID_CERTIFICATE, ALPNProtocols: ['h2'] };
  const server = tls.createServer(options, (socket) => {
    let read = NONE;
    let isAnswered = false;
    socket.on('error', () => {});
    socket.write(frame(SETTINGS, 0, 0, NONE));
    socket.on('data', (bytes) => {
      read = Buffer.concat([read, bytes]);
      if (hasFrame(read, RST_STREAM)) reset.resolve();
      if (isAnswered || !hasFrame(read, HEADERS)) return;
      isAnswered = true;
      socket.write(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port, reset: reset.promise };
}

async function connected({ port }: Played) {
  const sessions = new Http2Sessions({ idleMax: 1, idleMs: 1000 });
  const socket = tls.connect({
    ...{ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] },
  });
  await once(socket, 'secureConnect');
  const authority = `127.0.0.1:${port}`;
  sessions.adopt(authority, socket);
  const borrowed = sessions.borrow(authority)!;
  const request = { url: new URL(`https://${authority}/`), headers: {}, address: null };
  const end = () => {
    sessions.close();
    socket.destroy();
  };
  return { request, options: { ...borrowed, proxied: false }, end };
}

const heard = { onReady: () => true, onRepeat: () => {}, onReset: () => {} };

test('http2 frames: a body of one-byte frames is complete, and a turn handles at most two reads', async () => {
  const byte = frame(DATA, 0, 1, Buffer.from('x'));
  const bytes = Array.from({ length: FRAMES }, () => byte);
  const played = await serve(Buffer.concat([OK, ...bytes, frame(DATA, END_STREAM, 1, NONE)]));
  const client = await connected(played);
  let turn = 0;
  let isOver = false;
  const bytesByTurn: number[] = [];
  const end = Promise.withResolvers<void>();
  const events = {
    ...heard,
    onHead: (_head: unknown, body: BodyStream) => {
      body.on('data', ({ byteLength }) => {
        bytesByTurn[turn] = (bytesByTurn[turn] ?? 0) + byteLength;
      });
      body.once('end', end.resolve);
    },
    onFailure: end.reject,
  };
  new Http2Call(client.request, events, client.options);
  try {
    const turns = (async () => {
      for (; !isOver; turn++) await nextTurn();
    })();
    await end.promise;
    isOver = true;
    await turns;
    const counted = bytesByTurn.filter((bytes) => bytes > 0);
    assert.equal(
      counted.reduce((a, b) => a + b, 0),
      FRAMES,
    );
    assert.ok(Math.max(...counted) <= TURN_FRAMES_MAX, `${counted}`);
  } finally {
    client.end();
    played.server.close();
  }
});

test('http2 frames: the stream of a 204 that the server does not end is reset', async () => {
  const played = await serve(NO_CONTENT);
  const client = await connected(played);
  const head = Promise.withResolvers<number>();
  const onHead = ({ status }: { status: number }) => head.resolve(status);
  new Http2Call(client.request, { ...heard, onHead, onFailure: head.reject }, client.options);
  try {
    assert.equal(await head.promise, 204);
    await played.reset;
  } finally {
    client.end();
    played.server.close();
  }
});
