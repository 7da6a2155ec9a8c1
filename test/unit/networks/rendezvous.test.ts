import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { homeOf, ranked, ranksAbove } from '../../../agent/networks/rendezvous.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
const networks = ['berlin', 'paris', 'rome'];

describe('rendezvous', () => {
  // Computed with Python's hashlib.
  const vectors = {
    'a.example': ['paris', 'berlin', 'rome'],
    'b.example': ['berlin', 'rome', 'paris'],
    'c.example': ['rome', 'paris', 'berlin'],
    'd.example': ['berlin', 'rome', 'paris'],
  };

  it('ranks networks for a key as other implementations do', () => {
    for (const [key, expected] of Object.entries(vectors)) {
      assert.deepEqual(ranked(networks, key, sha256), expected);
      assert.equal(homeOf(networks, key, sha256), expected[0]);
    }
  });

  it('does not depend on the order in which the networks are named', () => {
    const turned = [...networks].reverse();
    assert.deepEqual(ranked(turned, 'a.example', sha256), vectors['a.example']);
  });

  it('gives one winner for each pair', () => {
    assert.equal(ranksAbove('paris', 'berlin', 'a.example', sha256), true);
    assert.equal(ranksAbove('berlin', 'paris', 'a.example', sha256), false);
  });

  it('removing a network moves only the keys that it won', () => {
    const keys = Array.from({ length: 300 }, (_, i) => `h${i}.example`);
    for (const key of keys) {
      const before = homeOf(networks, key, sha256);
      const after = homeOf(['berlin', 'paris'], key, sha256);
      if (before !== 'rome') assert.equal(after, before);
    }
  });
});
