import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { linesOf } from '../../../../agent/cli/check/check-lines.ts';

async function read(chunks: readonly (string | Uint8Array)[], bytesMax = 100) {
  async function* stream() {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  const lines: (string | null)[] = [];
  for await (const line of linesOf(stream(), bytesMax)) lines.push(line?.toString() ?? null);
  return lines;
}

test('lines: the lines do not depend on how the bytes are split into chunks', async () => {
  const piece = fc.constantFrom('a', 'é', '\n', '\n\n', '\r\n', '中b');
  await fc.assert(
    fc.asyncProperty(fc.array(piece), fc.integer({ min: 1, max: 5 }), async (pieces, size) => {
      const text = pieces.join('');
      const bytes = Buffer.from(text);
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
      const expected = text.split('\n');
      if (expected.at(-1) === '') expected.pop();
      assert.deepEqual(await read(chunks, 1000), expected);
    }),
  );
});

test('lines: drops a line that is too long, and keeps the lines around it', async () => {
  assert.deepEqual(await read(['ab\nabcdef', 'ghij\ncd\nabcde'], 4), ['ab', null, 'cd', null]);
  assert.deepEqual(await read(['abcd\nabcde'], 4), ['abcd', null]);
});

test('lines: reads input only when the consumer requests a line', async () => {
  let given = 0;
  async function* endless() {
    for (;;) {
      given++;
      yield Buffer.from('x\n');
    }
  }
  for await (const line of linesOf(endless(), 10)) {
    assert.equal(line?.toString(), 'x');
    if (given === 3) break;
  }
  assert.equal(given, 3);
});
