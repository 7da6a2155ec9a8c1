// Tests that the filter rewrites chunked bodies, however they arrive, into the strict form for the
// parser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ChunkFilter } from '../../../../agent/fetch/connection/chunk-filter.ts';

function passed(pieces: readonly string[]): { text: string; isOdd: boolean } {
  const filter = new ChunkFilter();
  const seen = pieces.map((piece) => filter.push(Buffer.from(piece, 'latin1')) ?? Buffer.alloc(0));
  return { text: Buffer.concat(seen).toString('latin1'), isOdd: filter.isOdd };
}

/** Cuts the text at these places. */
function cutAt(text: string, cuts: readonly number[]): string[] {
  const at = [0, ...cuts.toSorted((a, b) => a - b), text.length];
  return at.slice(1).map((end, k) => text.slice(at[k], end));
}

const STRICT = '5\r\nhello\r\nA\r\n0123\r\n6789\r\n0\r\n\r\n';

test('chunk filter: passes strict chunks unchanged, in whatever pieces they arrive', () => {
  assert.equal(new ChunkFilter().push(Buffer.from(STRICT))?.toString(), STRICT);
  fc.assert(
    fc.property(fc.array(fc.nat(STRICT.length), { maxLength: 8 }), (cuts) => {
      assert.deepEqual(passed(cutAt(STRICT, cuts)), { text: STRICT, isOdd: false });
    }),
  );
});

for (const [what, text, isOdd] of [
  ['an extension', STRICT.replace('5\r', '5;a="b"\r'), false],
  ['a trailer', STRICT.replace(/\r\n$/, 'X: y\r\n\r\n'), false],
  ['lines that end in LF only', STRICT.replaceAll('\r\n', '\n').replace('3\n6', '3\r\n6'), true],
  ['a blank after a size', STRICT.replace('5\r', '5  \r'), true],
  ['a control character in an extension', STRICT.replace('5\r', '5;\x01\r'), true],
  ['a control character in a trailer', STRICT.replace(/\r\n$/, 'X: \x01\r\n\r\n'), true],
  ['a trailer that is not a field', STRICT.replace(/\r\n$/, 'HTTP/1.1 200 OK\r\n\r\n'), true],
  ['a response after the end', `${STRICT}HTTP/1.1 200 OK\r\n\r\nevil`, true],
] as const) {
  test(`chunk filter: with ${what}, the parser receives only strict chunks`, () => {
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
        assert.deepEqual(passed(cutAt(text, cuts)), { text: STRICT, isOdd });
      }),
    );
  });
}

test('chunk filter: passes everything after an invalid chunk unchanged to the parser', () => {
  for (const text of [
    'x\r\n',
    '-1\r\n',
    '0x5\r\nhello\r\n',
    '5\r\nhelloX\r\n0\r\n\r\n',
    ' 5\r\n',
  ]) {
    assert.deepEqual(passed([text]), { text, isOdd: true }, text);
  }
  const long = 'a'.repeat(20_000);
  assert.deepEqual(passed([long, long]), { text: long + long, isOdd: true });
});

/** Parses a strict body strictly; returns the number of its chunks and their data. */
function strictChunks(text: string): { count: number; data: string } {
  let data = '';
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    const [line, digits] = /^([0-9a-fA-F]+)\r\n/.exec(text.slice(at, at + 20))!;
    const start = at + line.length;
    const end = start + Number.parseInt(digits!, 16);
    assert.equal(text.slice(end, end + 2), '\r\n');
    data += text.slice(start, end);
    at = end + 2;
  }
  return { count, data };
}

for (const [what, chunk, isOdd] of [
  ['of one byte', '1\r\nx\r\n', false],
  ['with an extension', '1;a\r\nx\r\n', false],
  ['with leading zeros', '0000001\r\nx\r\n', false],
  ['with lines that end in LF only', '1\nx\n', true],
  ['with a blank after the size', '1 \r\nx\r\n', true],
  ['with a control character in the extension', '1;\x01\r\nx\r\n', true],
] as const) {
  test(`chunk filter: joins thousands of chunks ${what} that arrive in one read into a few`, () => {
    const filter = new ChunkFilter();
    const bytes = Buffer.from(`${chunk.repeat(5000)}0\r\n\r\n`, 'latin1');
    let seen = '';
    for (let at = 0; at < bytes.length; at += 8192) {
      const out = filter.push(bytes.subarray(at, at + 8192))!.toString('latin1');
      seen += out;
      assert.ok(out.length < 8192 + 32);
    }
    const { count, data } = strictChunks(seen);
    assert.equal(data, 'x'.repeat(5000));
    assert.ok(count <= 4 * Math.ceil(bytes.length / 8192) + 1, `${count} chunks`);
    assert.equal(filter.isOdd, isOdd);
  });
}

test('chunk filter: keeps the data of chunks of any sizes in any pieces', () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(5000)), {
    minLength: 1,
    maxLength: 60,
  });
  const cuts = fc.array(fc.nat(1000), { maxLength: 4 });
  fc.assert(
    fc.property(sizes, cuts, (sizes, cuts) => {
      const data = sizes.map((size, k) => String.fromCharCode(97 + (k % 26)).repeat(size));
      const lines = data.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
      const text = `${lines.join('')}0\r\n\r\n`;
      const places = cuts.map((cut) => Math.floor((cut / 1001) * text.length));
      const { text: seen, isOdd } = passed(cutAt(text, places));
      assert.equal(strictChunks(seen).data, data.join(''));
      assert.equal(isOdd, false);
    }),
  );
});

for (const [what, chunk] of [
  ['in small chunks', `1;${'a'.repeat(200)}\r\nx\r\n`],
  ['in large chunks', `1;${'a'.repeat(16_000)}\r\nx\r\n`],
] as const) {
  test(`chunk filter: refuses extensions that are many times larger than the data ${what}`, () => {
    const filter = new ChunkFilter();
    const bytes = Buffer.from(chunk.repeat(Math.ceil(60_000 / chunk.length)), 'latin1');
    let seen = '';
    for (let k = 0; k < 40; k++) seen += filter.push(bytes)?.toString('latin1') ?? '';
    assert.match(seen, /\r\nmore chunk framing than data\r\n/);
    assert.equal(filter.isOdd, true);
  });
}
