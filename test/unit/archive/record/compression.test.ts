import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { compressed } from '../../../../agent/archive/record/compression.ts';
import { GZIP, PACKED, WORDS } from './compression-stage.ts';

test('compression: compresses a large record of which only a part is compressible', () => {
  for (const record of [WORDS, Buffer.concat([PACKED, WORDS]), Buffer.concat([WORDS, PACKED])]) {
    const member = compressed(record, GZIP);
    assert.ok(member.length < record.length * 0.9);
    assert.deepEqual(gunzipSync(member), record);
  }
});

test('compression: compresses small records at the configured level', () => {
  const record = WORDS.subarray(0, 100_000);
  assert.deepEqual(compressed(record, GZIP), gzipSync(record, { level: 1 }));
});
