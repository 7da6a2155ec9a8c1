import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { type BodyEnd, BodyReader } from '../../../agent/fetch/body-reader.ts';
import { gunzipFirstMember } from '../../../agent/fetch/gzip-first-member.ts';

/** Pushes the pieces, honouring pauses, and waits for the end. */
async function read(coding: string, bytesMax: number, pieces: readonly Uint8Array[]) {
  let resume = () => {};
  let paused = false;
  const source = {
    pause: () => {
      paused = true;
    },
    resume: () => {
      paused = false;
      resume();
    },
  };
  const ends: BodyEnd[] = [];
  const ended = Promise.withResolvers<void>();
  const reader = new BodyReader(coding, bytesMax, source, (end) => {
    ends.push(end);
    ended.resolve();
  });
  for (const piece of pieces) {
    reader.push(piece);
    if (paused && ends.length === 0) {
      const resumed = new Promise<void>((resolve) => {
        resume = resolve;
      });
      await Promise.race([resumed, ended.promise]);
    }
  }
  reader.finish();
  await ended.promise;
  await new Promise(setImmediate);
  assert.equal(ends.length, 1, 'ends once');
  return { end: ends[0]!, body: Buffer.from(reader.take()), received: reader.received };
}

const ENCODERS: Record<string, (body: Buffer) => Buffer> = {
  '': (body) => body,
  gzip: (body) => zlib.gzipSync(body),
  deflate: (body) => zlib.deflateSync(body),
  br: (body) => zlib.brotliCompressSync(body),
  zstd: (body) => zlib.zstdCompressSync(body),
  'br, gzip': (body) => zlib.gzipSync(zlib.brotliCompressSync(body)),
};

function cutInto(coded: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(coded.length / size) }, (_, index) =>
    coded.subarray(index * size, (index + 1) * size),
  );
}

for (const [coding, encode] of Object.entries(ENCODERS)) {
  test(`body reader: ${coding || 'no coding'} in any pieces gives the body up to the cap`, async () => {
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

  test(`body reader: ${coding || 'no coding'} cut short is never whole`, async () => {
    if (coding === '') {
      return; // Only the wire knows, and the exchange asks it.
    }
    const coded = encode(Buffer.from('<a href="/next">next</a>'.repeat(50)));
    for (let length = 1; length < coded.length; length += 7) {
      const { end } = await read(coding, 1e6, [coded.subarray(0, length)]);
      assert.equal(end.kind, 'broken', `${length} of ${coded.length}`);
    }
  });
}

test('gzip first member: every optional header field is skipped', () => {
  const body = Buffer.from('<p>text</p>');
  const plain = zlib.gzipSync(body);
  for (const flags of [0, 2, 4, 8, 16, 30]) {
    const header = Buffer.from(plain.subarray(0, 10));
    header[3] = flags;
    const fields = [
      flags & 4 ? Buffer.from([3, 0, 1, 2, 3]) : Buffer.alloc(0),
      flags & 8 ? Buffer.from('name\0') : Buffer.alloc(0),
      flags & 16 ? Buffer.from('comment\0') : Buffer.alloc(0),
      flags & 2 ? Buffer.from([9, 9]) : Buffer.alloc(0),
    ];
    const wire = Buffer.concat([header, ...fields, plain.subarray(10), Buffer.from('tail')]);
    assert.deepEqual(gunzipFirstMember(wire, 100), body, `flags ${flags}`);
  }
});

test('gzip first member: damaged, incomplete or too large is null', () => {
  const wire = zlib.gzipSync(Buffer.from('<p>text</p>'.repeat(10)));
  assert.equal(gunzipFirstMember(wire, 109), null, 'one byte too many');
  assert.notEqual(gunzipFirstMember(wire, 110), null);
  for (let length = 0; length < wire.length; length++) {
    assert.equal(gunzipFirstMember(wire.subarray(0, length), 1000), null, `${length} bytes`);
  }
  const damaged = Buffer.from(wire);
  damaged[wire.length - 6]! ^= 1;
  assert.equal(gunzipFirstMember(damaged, 1000), null, 'checksum');
});

for (const coding of ['br', 'zstd', 'gzip', 'br, gzip']) {
  test(`body reader: a bomb in ${coding} is cut at what so few bytes may become`, async () => {
    const bomb = ENCODERS[coding]!(Buffer.alloc(32 * 2 ** 20));
    const cap = 30 * 2 ** 20;
    const { end, body } = await read(coding, cap, [bomb]);
    const credible = coding.includes(',') ? cap : Math.max(2 ** 20, 500 * bomb.length);
    assert.deepEqual([end.kind, body.length], ['cut', Math.min(cap, credible)]);
  });

  test(`body reader: a dull page in ${coding} is whole`, async () => {
    const rows = Array.from({ length: 40_000 }, (_, k) => `<tr><td>${k}</td><td>row</td></tr>\n`);
    const page = Buffer.from(rows.join('').repeat(2));
    const { end, body } = await read(coding, 2 ** 24, [ENCODERS[coding]!(page)]);
    assert.deepEqual([end.kind, body.length], ['whole', page.length]);
  });
}
