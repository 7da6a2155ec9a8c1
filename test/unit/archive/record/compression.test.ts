import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { compressed } from '../../../../agent/archive/record/compression.ts';

const GZIP = { format: 'gzip', level: 1 } as const;
const WORDS = Buffer.from(
  Array.from({ length: 1_000_000 }, (_, n) => (n * 2654435761) % 2 ** 32).join(' '),
);
const PACKED = gzipSync(WORDS, { level: 9 });

/** By the first bits after the head of a member (RFC 1951, 3.2.3). */
const isStored = (member: Buffer) => (member[10]! & 0b110) === 0;

test('compression: a large record that is packed already is stored in a member', () => {
  const record = Buffer.concat([Buffer.from('WARC/1.1\r\n'.repeat(30)), PACKED]);
  const member = compressed(record, GZIP);
  assert.ok(isStored(member));
  assert.ok(member.length < record.length * 1.001);
  assert.deepEqual(gunzipSync(member), record);
});

test('compression: a large record of which a part can be packed is packed', () => {
  for (const record of [WORDS, Buffer.concat([PACKED, WORDS]), Buffer.concat([WORDS, PACKED])]) {
    const member = compressed(record, GZIP);
    assert.ok(member.length < record.length * 0.9);
    assert.deepEqual(gunzipSync(member), record);
  }
});

test('compression: small records are packed at the level asked for', () => {
  const record = WORDS.subarray(0, 100_000);
  assert.deepEqual(compressed(record, GZIP), gzipSync(record, { level: 1 }));
});
