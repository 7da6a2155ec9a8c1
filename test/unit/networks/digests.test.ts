import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { digestOf } from '../../../agent/networks/digests.ts';

it('digests: the first 16 bytes of the SHA-256 in base64url', () => {
  const sha256 = (text: string) => createHash('sha256').update(text).digest();
  assert.equal(digestOf('http://a.example/', sha256), 'IX-6vA56oXEVQ1r9lmtzSg');
});
