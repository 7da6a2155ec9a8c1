// Tests that the memory of a body in pieces is proportional to its bytes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BodyPieces } from '../../../../agent/fetch/body/body-pieces.ts';
import { BodyReader } from '../../../../agent/fetch/body/body-reader.ts';

test('body pieces: joins pieces of one byte into few objects', () => {
  const pieces = new BodyPieces();
  for (let k = 0; k < 100_000; k++) pieces.push(Uint8Array.of(k));
  assert.ok(pieces.count <= 100_000 / 256 + 256, `${pieces.count}`);
  const whole = Buffer.concat(pieces.take());
  assert.equal(whole.length, 100_000);
  assert.ok(whole.every((byte, k) => byte === k % 256));
});

test('body pieces: copies small parts of large buffers instead of keeping the buffers', () => {
  const pieces = new BodyPieces();
  for (let k = 0; k < 1000; k++) pieces.push(new Uint8Array(64 * 1024).subarray(0, 5000));
  const buffers = new Set(pieces.take().map(({ buffer }) => buffer));
  const bytes = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
  assert.ok(bytes <= 1000 * 5000 + 512 * 1024, `${bytes}`);
});

test('body pieces: does not copy large pieces', () => {
  const pieces = new BodyPieces();
  const large = Array.from({ length: 20 }, () => new Uint8Array(16 * 1024));
  for (const piece of large) pieces.push(piece);
  assert.ok(pieces.take().every((piece, k) => piece === large[k]));
});

test('body pieces: keeps the order of the bytes', () => {
  const sizes = fc.array(fc.oneof(fc.nat(20), fc.constant(5000), fc.constant(70_000)), {
    maxLength: 400,
  });
  fc.assert(
    fc.property(sizes, (sizes) => {
      const parts = sizes.map((size, k) => Buffer.alloc(size, k));
      const pieces = new BodyPieces();
      for (const part of parts) pieces.push(part);
      assert.ok(Buffer.concat(pieces.take()).equals(Buffer.concat(parts)));
      assert.equal(pieces.count, 0);
    }),
    { numRuns: 50 },
  );
});

test('body reader: holds a body that arrives in single bytes in few objects', async () => {
  const source = { pause() {}, resume() {} };
  const reader = new BodyReader(undefined, 1024 * 1024, source, () => {});
  for (let k = 0; k < 100_000; k++) reader.push(Uint8Array.of(120));
  assert.ok(reader.pieces <= 100_000 / 256 + 256, `${reader.pieces}`);
  assert.equal((await reader.take()).length, 100_000);
});
