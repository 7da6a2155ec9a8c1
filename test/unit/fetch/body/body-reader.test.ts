import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { GzipMembers } from '../../../../agent/coding/gzip-members.ts';
import { ZstdFrames } from '../../../../agent/coding/zstd-frames.ts';
import { type BodyEnd, BodyReader } from '../../../../agent/fetch/body/body-reader.ts';
import { cutInto, ENCODERS, NUMBERS, read } from './body-reader-stage.ts';

/** Larger than what is kept for decoding a second time. */
const large = Buffer.from(
  Array.from({ length: 50_000 }, (_, n) => {
    return `<p>${(Math.imul(n, 2654435761) ^ Math.imul(n * n, 40503)) >>> 0}</p>`;
  }).join(''),
);

for (const [coding, encode] of Object.entries(ENCODERS)) {
  test(`body reader: decodes ${coding || 'no coding'} in any pieces up to the cap`, async () => {
    const text = fc.string({ maxLength: 3000 }).map((value) => Buffer.from(value.repeat(3)));
    const sizes = fc.integer({ min: 1, max: 5000 });
    await fc.assert(
      fc.asyncProperty(text, sizes, sizes, async (body, pieceBytes, bytesMax) => {
        const coded = encode(body);
        const { end, body: got } = await read(coding, bytesMax, cutInto(coded, pieceBytes));
        assert.equal(end.kind, body.length > bytesMax ? 'cut' : 'whole');
        assert.deepEqual(got, body.subarray(0, bytesMax));
      }),
      { numRuns: 40 },
    );
  });

  test(`body reader: ${coding || 'no coding'} that is truncated is never reported as whole`, async () => {
    if (coding === '') {
      return; // Only the exchange can detect this, by the length on the wire.
    }
    const coded = encode(Buffer.from('<a href="/next">next</a>'.repeat(50)));
    // The data of gzip ends before its trailer; a body without the trailer is accepted.
    const whole = coding === 'gzip' ? coded.length - 8 : coded.length;
    for (let length = 1; length < whole; length += 7) {
      const { end } = await read(coding, 1e6, [coded.subarray(0, length)]);
      assert.equal(end.kind, 'broken', `${length} of ${coded.length}`);
    }
  });
}

for (const [size, content] of [
  ['small', Buffer.from('<p>text</p>'.repeat(10))],
  ['large', large],
] as const) {
  const half = content.length >> 1;
  const members = [content.subarray(0, half), content.subarray(half)].map((part) =>
    zlib.gzipSync(part, { level: 1 }),
  );
  const wire = Buffer.concat(members);
  assert.equal(wire.length > 256 * 1024, size === 'large');
  for (const tail of ['garbage', '\0\0\0\0', '\x1f', '\x1f\x8b junk', '\x1f\x8b\x08']) {
    test(`gzip: decodes ${size} members followed by ${JSON.stringify(tail)} completely`, async () => {
      const coded = Buffer.concat([wire, Buffer.from(tail, 'latin1')]);
      for (const piece of [coded.length, 9999, members[0]!.length]) {
        const { end, body } = await read('gzip', 1e8, cutInto(coded, piece));
        assert.equal(end.kind, 'whole', `pieces of ${piece}`);
        assert.ok(body.equals(content));
      }
    });
  }
}

test('gzip: skips every optional header field when garbage follows', async () => {
  const content = Buffer.from('<p>text</p>');
  const plain = zlib.gzipSync(content);
  for (const flags of [0, 2, 4, 8, 16, 30]) {
    const header = Buffer.from(plain.subarray(0, 10));
    header[3] = flags;
    const fields = [
      flags & 4 ? Buffer.from([3, 0, 1, 2, 3]) : Buffer.alloc(0),
      flags & 8 ? Buffer.from('name\0') : Buffer.alloc(0),
      flags & 16 ? Buffer.from('comment\0') : Buffer.alloc(0),
      flags & 2 ? Buffer.from([9, 9]) : Buffer.alloc(0),
    ];
    const member = Buffer.concat([header, ...fields, plain.subarray(10)]);
    const decoder = new GzipMembers({});
    for (const byte of [...member, ...member, ...Buffer.from('tail')])
      decoder.write(Buffer.of(byte));
    decoder.end();
    assert.equal(String(Buffer.concat(await decoder.toArray())), `${content}${content}`);
  }
});

test('gzip members: reports an error for damaged, truncated or too many members', async () => {
  const wire = zlib.gzipSync(Buffer.from('<p>text</p>'.repeat(10)));
  const failure = async (coded: Buffer) => {
    const decoder = new GzipMembers({});
    decoder.end(coded);
    return decoder.toArray().then(
      () => null,
      (error: Error) => error.message,
    );
  };
  for (let length = 1; length < wire.length; length++) {
    const expected = length < wire.length - 8 ? 'unexpected end of file' : null;
    assert.equal(await failure(wire.subarray(0, length)), expected, `${length}`);
  }
  const damaged = Buffer.from(wire);
  damaged[wire.length - 6]! ^= 1;
  assert.equal(await failure(damaged), 'incorrect data check');
  const none = zlib.gzipSync('');
  assert.equal(await failure(Buffer.concat(Array(1000).fill(none))), null);
  assert.equal(await failure(Buffer.concat(Array(1001).fill(none))), 'too many members');
});

test('gzip: decodes a bomb followed by garbage only up to the cap, off the main thread', async () => {
  const bomb = zlib.gzipSync(Buffer.alloc(50_000_000));
  const { end, body } = await read('gzip', 3_000_000, [Buffer.concat([bomb, Buffer.from('tail')])]);
  assert.equal(end.kind, 'cut');
  assert.ok(body.length <= 3_000_000);
});

for (const [name, make, coded] of [
  ['zstd', () => new ZstdFrames({}), zlib.zstdCompressSync(Buffer.alloc(20_000_000))],
  ['gzip', () => new GzipMembers({}), zlib.gzipSync(Buffer.alloc(20_000_000))],
] as const) {
  test(`${name}: does not decode what its reader does not read`, async () => {
    const left = make();
    left.end(coded);
    left.once('readable', () => {});
    // Meanwhile another reader decodes the same data twice.
    for (let n = 0; n < 2; n++) {
      const taken = make();
      taken.end(coded);
      assert.equal(Buffer.concat(await taken.toArray()).length, 20_000_000);
    }
    assert.ok(left.readableLength < 256 * 1024, `${left.readableLength} bytes wait`);
    assert.equal(Buffer.concat(await left.toArray()).length, 20_000_000);
  });
}

for (const coding of ['br', 'zstd', 'gzip', 'br, gzip']) {
  test(`body reader: cuts a bomb in ${coding} at the largest plausible size`, async () => {
    const bomb = ENCODERS[coding]!(Buffer.alloc(32 * 2 ** 20));
    const cap = 30 * 2 ** 20;
    const { end, body } = await read(coding, cap, [bomb]);
    const credible = coding.includes(',') ? cap : Math.max(2 ** 20, 500 * bomb.length);
    assert.deepEqual([end.kind, body.length], ['cut', Math.min(cap, credible)]);
  });

  test(`body reader: reads a repetitive page in ${coding} completely`, async () => {
    const rows = Array.from({ length: 40_000 }, (_, k) => `<tr><td>${k}</td><td>row</td></tr>\n`);
    const page = Buffer.from(rows.join('').repeat(2));
    const { end, body } = await read(coding, 2 ** 24, [ENCODERS[coding]!(page)]);
    assert.deepEqual([end.kind, body.length], ['whole', page.length]);
  });
}

test('body reader: reads all frames of zstd, in whatever pieces they arrive', async () => {
  const frame = (text: string) => zlib.zstdCompressSync(Buffer.from(text));
  const large = Buffer.alloc(300_000, 'abc');
  const skippable = Buffer.concat([
    Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0]),
    Buffer.from('xyz'),
  ]);
  const checked = zlib.zstdCompressSync(Buffer.from('checked'), {
    params: { [zlib.constants.ZSTD_c_checksumFlag]: 1 },
  });
  const wire = Buffer.concat([
    ...[skippable, frame('one '), frame(''), frame('two '), skippable, checked],
    ...[frame(large.toString()), Buffer.from('tail that is no frame')],
  ]);
  for (const size of [1, 7, wire.length]) {
    const pieces = Array.from({ length: Math.ceil(wire.length / size) }, (_, at) =>
      wire.subarray(at * size, (at + 1) * size),
    );
    const { end, body } = await read('zstd', 1024 * 1024, pieces);
    assert.deepEqual(end, { kind: 'whole' });
    assert.equal(body.toString(), `one two checked${large}`);
  }
});

for (const keepsWire of [false, true]) {
  const held = keepsWire ? 'and its coded copy for the archive, ' : '';
  test(`body reader: reserves memory for the decoded body, ${held}step by step`, async () => {
    const ended = Promise.withResolvers<BodyEnd>();
    const source = { pause: () => {}, resume: () => {} };
    const asked: number[] = [];
    const reserve = (bytes: number) => asked.push(bytes) > 0;
    const memory = { reserve, keepsWire };
    const reader = new BodyReader('gzip', 8 * 1024 ** 2, source, ended.resolve, memory);
    const coded = zlib.gzipSync(NUMBERS);
    for (const piece of cutInto(coded, 32 * 1024)) reader.push(piece);
    reader.finish();
    await ended.promise;
    const bytes = NUMBERS.length + (keepsWire ? coded.length : 0);
    assert.ok(asked.every((total, k) => k === 0 || total > asked[k - 1]!));
    assert.ok(asked.at(-1)! >= bytes - 256 * 1024 && asked.at(-1)! <= bytes + 512 * 1024);
    assert.ok(asked.length >= bytes / (512 * 1024), `${asked.length} steps`);
  });
}

test('body reader: joins a large body in parts, and the event loop runs in between', async () => {
  const ended = Promise.withResolvers<BodyEnd>();
  const source = { pause: () => {}, resume: () => {} };
  const reader = new BodyReader(undefined, 64 * 1024 ** 2, source, ended.resolve);
  const chunk = Buffer.alloc(1024 ** 2, 'x');
  for (let n = 0; n < 33; n++) reader.push(chunk);
  reader.finish();
  await ended.promise;
  let rounds = 0;
  let isOver = false;
  const count = () => {
    rounds++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { length } = await reader.take();
  isOver = true;
  assert.equal(length, 33 * 1024 ** 2);
  assert.ok(rounds >= 8, `${rounds}`);
});
