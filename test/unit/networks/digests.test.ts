import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { digestOf } from '../../../agent/networks/digests.ts';

it('digests: the first 16 bytes of the SHA-256 in base64url', () => {
  const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
  assert.equal(digestOf('http://a.example/', sha256), 'IX-6vA56oXEVQ1r9lmtzSg');
  for (let k = 0; k < 300; k++) {
    const bytes = createHash('sha256').update(String(k)).digest().subarray(0, 16);
    assert.equal(digestOf(String(k), sha256), bytes.toString('base64url'));
  }
});
