// The slow tests of `compression.ts`; the others are in
// `test/unit/archive/record/compression.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { compressed } from '../../../../../agent/archive/record/compression.ts';
import { GZIP, PACKED } from '../compression-stage.ts';

/**
 * Whether the first block is stored, by the first bits after the member's header (RFC 1951, 3.2.3).
 */
const isStored = (member: Buffer) => (member[10]! & 0b110) === 0;

test('compression: stores a large record that is already compressed in a member without deflating it', () => {
  const record = Buffer.concat([Buffer.from('WARC/1.1\r\n'.repeat(30)), PACKED]);
  const member = compressed(record, GZIP);
  assert.ok(isStored(member));
  assert.ok(member.length < record.length * 1.001);
  assert.deepEqual(gunzipSync(member), record);
});
