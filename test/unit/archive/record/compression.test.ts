import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { compressed } from '../../../../agent/archive/record/compression.ts';
import { GZIP, PACKED, WORDS } from './compression-stage.ts';

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
