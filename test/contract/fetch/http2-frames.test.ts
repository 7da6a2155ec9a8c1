// HTTP/2 bodies in frames of one byte, on real sockets: one turn of the event loop must process
// only a bounded number of frames.

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

/** Whether a HEADERS frame has arrived after the preface of 24 bytes. */
function hasRequest(read: Buffer): boolean {
  for (let at = 24; at + 9 <= read.length; at += 9 + read.readUIntBE(at, 3)) {
    if (read[at + 3] === HEADERS) return true;
  }
  return false;
}

/** Answers the first request with the whole body in one write. */
async function serve(): Promise<{ server: tls.Server; port: number }> {
  const NONE = Buffer.alloc(0);
  const byte = frame(DATA, 0, 1, Buffer.from('x'));
  const answer = Buffer.concat([
    // Index 8 of the static table: ":status: 200".
    frame(HEADERS, END_HEADERS, 1, Buffer.from([0x88])),
    ...Array.from({ length: FRAMES }, () => byte),
    frame(DATA, END_STREAM, 1, NONE),
  ]);
  const options = { key: TEST_KEY, cert: VALID_CERTIFICATE, ALPNProtocols: ['h2'] };
  const server = tls.createServer(options, (socket) => {
    let read = NONE;
    socket.on('error', () => {});
    socket.write(frame(SETTINGS, 0, 0, NONE));
    socket.on('data', (bytes) => {
      read = Buffer.concat([read, bytes]);
      if (!hasRequest(read)) return;
      socket.removeAllListeners('data').resume();
      socket.write(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

test('http2 frames: a body of one-byte frames is complete, and a turn handles at most two reads', async () => {
  const { server, port } = await serve();
  const sessions = new Http2Sessions({ idleMax: 1, idleMs: 1000 });
  const socket = tls.connect({
    ...{ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] },
  });
  await once(socket, 'secureConnect');
  const authority = `127.0.0.1:${port}`;
  sessions.adopt(authority, socket);
  const borrowed = sessions.borrow(authority)!;
  let turn = 0;
  let isOver = false;
  const bytesByTurn: number[] = [];
  const end = Promise.withResolvers<void>();
  const events = {
    onReady: () => true,
    onHead: (_head: unknown, body: BodyStream) => {
      body.on('data', ({ byteLength }) => {
        bytesByTurn[turn] = (bytesByTurn[turn] ?? 0) + byteLength;
      });
      body.once('end', end.resolve);
    },
    onRepeat: () => {},
    onReset: () => {},
    onFailure: end.reject,
  };
  const request = { url: new URL(`https://${authority}/`), headers: {}, address: null };
  new Http2Call(request, events, { ...borrowed, proxied: false });
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
    sessions.close();
    socket.destroy();
    server.close();
  }
});
