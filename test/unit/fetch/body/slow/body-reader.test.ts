// The slow tests of the body reader; the others are in `test/unit/fetch/body/body-reader.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { type BodyEnd, BodyReader } from '../../../../../agent/fetch/body/body-reader.ts';
import { cutInto, ENCODERS, NUMBERS, read } from '../body-reader-stage.ts';

/** Pushes as much of NUMBERS as the reader accepts while it has no memory. */
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
  // Without a coding the reader pauses the source, and receives no more until memory is granted.
  const first = coding === '' ? pieces.splice(0, 9) : pieces.splice(0);
  for (const piece of first) reader.push(piece);
  if (coding !== '') reader.finish();
  const grant = await asked.promise;
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  assert.ok(isPaused);
  return { reader, grant, rest: pieces, ended: ended.promise };
}

/** A gigabyte as 16 members of 64 MiB. */
const bomb = Array<Buffer>(16).fill(zlib.gzipSync(Buffer.alloc(64 * 1024 ** 2), { level: 9 }));

for (const inner of ['gzip', 'zstd', 'br', 'deflate']) {
  test(`body reader: gzip around ${inner} is inflated only up to the maximum size on the wire`, async () => {
    // The outer coding would give a gibibyte, and the inner one nothing.
    const before = process.cpuUsage();
    const { end } = await read(`${inner}, gzip`, 256 * 1024, bomb);
    assert.notEqual(end.kind, 'whole');
    const { user } = process.cpuUsage(before);
    assert.ok(user < 5_000_000, `${user} microseconds`);
  });
}

test('body reader: refuses zstd in thousands of frames before they use much CPU time', async () => {
  const frames = Buffer.concat(Array<Buffer>(20_000).fill(zlib.zstdCompressSync('')));
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

  test(`body reader: ${coding || 'no coding'} continues once memory is granted`, async () => {
    const { reader, grant, rest, ended } = await starve(coding, encode);
    grant();
    for (const piece of rest) reader.push(piece);
    if (coding === '') reader.finish();
    assert.equal((await ended).kind, 'whole');
    assert.deepEqual(Buffer.from(await reader.take()), NUMBERS);
  });
}
