import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame, VerdictFrame } from '../../../../agent/networks/pools.ts';
import {
  frameText,
  readFrame,
  readGift,
  readVerdict,
  verdictText,
} from '../../../../agent/networks/redis/frame-codec.ts';

const digest = `${'x'.repeat(21)}A`;
const frame: Frame = {
  number: 'berlin/a1.3/9',
  flag: 1,
  network: 'berlin',
  origin: 'a1',
  relay: 'berlin',
  sender: 'a1',
  digests: [digest, digest],
};
const verdict: VerdictFrame = { number: 'n', owners: ['', 'paris'], finals: '01', isPartial: true };

test('frame codec: reads what it has written', () => {
  const answer: Frame = { ...frame, flag: 3, marks: 'q0' };
  const doubted = { ...frame, identities: ['http://a.test/', 'http://b.test/'] };
  const asked = { ...frame, flag: 2 as const };
  for (const one of [frame, asked, answer, doubted]) {
    assert.deepEqual(readFrame(frameText(one)), one);
  }
  assert.deepEqual(readVerdict(verdictText(verdict)), verdict);
});

for (const [what, change] of [
  ['an unknown flag', { flag: 4 }],
  ['no number', { number: '' }],
  ['a number that is none', { number: 7 }],
  ['a name that is too long', { origin: 'x'.repeat(401) }],
  ['a digest of another length', { digests: [digest.slice(1)] }],
  ['a digest with spare bits', { digests: [`${'x'.repeat(21)}B`] }],
  ['no digests', { digests: [] }],
  ['digests that are no list', { digests: digest }],
  ['too many digests', { digests: Array(10_001).fill(digest) }],
  ['an answer without marks', { flag: 3 }],
  ['too few marks', { flag: 3, marks: 'q' }],
  ['unknown marks', { flag: 3, marks: 'qx' }],
  ['marks of a question', { flag: 2, marks: 'qq' }],
  ['too few identities', { identities: ['http://a.test/'] }],
  ['identities that are no texts', { identities: ['http://a.test/', 1] }],
  ['marks that are no text', { flag: 3, marks: ['q', 'q'] }],
] as const) {
  test(`frame codec: refuses a frame with ${what}`, () => {
    assert.equal(readFrame(JSON.stringify({ ...frame, ...change })), null);
  });
}

for (const [what, change] of [
  ['no number', { number: '' }],
  ['owners that are no texts', { owners: [1, 2] }],
  ['too few finals', { finals: '1' }],
  ['other finals', { finals: '0f' }],
  ['no word on its completeness', { isPartial: 'no' }],
] as const) {
  test(`frame codec: refuses a verdict with ${what}`, () => {
    assert.equal(readVerdict(JSON.stringify({ ...verdict, ...change })), null);
  });
}

test('frame codec: refuses what is no JSON object', () => {
  for (const text of ['', '{', 'null', '[]', '7', '"x"']) {
    assert.equal(readFrame(text), null);
    assert.equal(readVerdict(text), null);
  }
});

test('frames: of a gift only the URLs with the right form are read', () => {
  const good = { url: 'http://a/', depth: 3, referrer: 'http://b/', sitemap: true };
  assert.deepEqual(readGift(JSON.stringify([good, { ...good, more: 1 }])), [good, good]);
  const wrong = [
    { url: 1, depth: 0 },
    { url: 'http://a/', depth: -1 },
    { url: '', depth: 0 },
    null,
  ];
  assert.deepEqual(readGift(JSON.stringify(wrong)), []);
  const plain = { url: 'http://a/', depth: 0 };
  const long = `http://a/${'x'.repeat(8000)}`;
  assert.deepEqual(readGift(JSON.stringify([{ ...plain, url: long }])), []);
  assert.deepEqual(readGift(JSON.stringify([{ ...plain, referrer: long }])), [plain]);
  assert.deepEqual(readGift(JSON.stringify([{ ...plain, referrer: 1, sitemap: 1 }])), [plain]);
  assert.equal(readGift(JSON.stringify(Array(2000).fill(plain))).length, 1000);
  for (const text of ['', '{}', '1', '[', ']']) assert.deepEqual(readGift(text), []);
});
