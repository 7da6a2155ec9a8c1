// The slower of the tests in `test/unit/fetch/body/body-reader.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { type BodyEnd, BodyReader } from '../../../../../agent/fetch/body/body-reader.ts';
import { cutInto, ENCODERS, NUMBERS, read } from '../body-reader-stage.ts';

/** Pushes NUMBERS to a reader that has no memory, as much as it takes. */
async function starve(coding: string, encode: (body: Buffer) => Buffer) {
  let isPaused = false;
  const source = {
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
  };
  const ended = Promise.withResolvers<BodyEnd>();
  const asked = Promise.withResolvers<() => void>();
  let isOpen = false;
  const reserve = (_: number, onGranted: () => void) => {
    asked.resolve(() => {
      isOpen = true;
      onGranted();
    });
    return isOpen;
  };
  const memory = { reserve, keepsWire: false };
  const reader = new BodyReader(coding, 8 * 1024 ** 2, source, ended.resolve, memory);
  const pieces = cutInto(encode(NUMBERS), 32 * 1024);
  // Without a coding it stops the source, and gets no more until it is granted.
  const first = coding === '' ? pieces.splice(0, 9) : pieces.splice(0);
  for (const piece of first) reader.push(piece);
  if (coding !== '') reader.finish();
  const grant = await asked.promise;
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  assert.ok(isPaused);
  return { reader, grant, rest: pieces, ended: ended.promise };
}

for (const inner of ['gzip', 'zstd', 'br', 'deflate']) {
  test(`body reader: gzip around ${inner} is not inflated beyond what a body may be on the wire`, async () => {
    // A gibibyte would come out of the outer coding, and nothing out of the inner one.
    const bomb = zlib.gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 9 });
    const pieces = Array.from({ length: 16 }, () => bomb);
    const before = process.cpuUsage();
    const { end } = await read(`${inner}, gzip`, 256 * 1024, pieces);
    assert.notEqual(end.kind, 'whole');
    const { user } = process.cpuUsage(before);
    assert.ok(user < 5_000_000, `${user} microseconds`);
  });
}

test('body reader: zstd in thousands of frames is refused before they cost anything', async () => {
  const frames = Buffer.concat(Array.from({ length: 20_000 }, () => zlib.zstdCompressSync('')));
  const { end } = await read('zstd', 1024 * 1024, [frames]);
  assert.deepEqual(end, {
    kind: 'broken',
    code: 'body_encoding',
    message: 'too many zstd frames',
  });
});

for (const [coding, encode] of Object.entries(ENCODERS)) {
  test(`body reader: ${coding || 'no coding'} without memory decodes no more than is free`, async () => {
    const { reader } = await starve(coding, encode);
    const { length } = await reader.take();
    reader.stop();
    assert.ok(length < 0.45 * 1024 ** 2, `${length}`);
  });

  test(`body reader: ${coding || 'no coding'} goes on once there is memory`, async () => {
    const { reader, grant, rest, ended } = await starve(coding, encode);
    grant();
    for (const piece of rest) reader.push(piece);
    if (coding === '') reader.finish();
    assert.equal((await ended).kind, 'whole');
    assert.deepEqual(Buffer.from(await reader.take()), NUMBERS);
  });
}
