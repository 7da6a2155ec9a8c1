import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simhashOf } from '../../../../agent/parse/fingerprint/simhash.ts';
import { assertLinear } from '../../../checkers/linear-cost.ts';

/** Words from a small pseudo-random generator, so that the text is the same on every machine. */
function words(count: number, seed: number): string[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return `w${(state >>> 8) % 5000}`;
  });
}

function bitsBetween(a: string, b: string): number {
  const differing = BigInt(`0x${a}`) ^ BigInt(`0x${b}`);
  return differing.toString(2).replaceAll('0', '').length;
}

const wordsMin = 20;
const of = (text: string) => simhashOf(text, wordsMin)!;

test('simhash: one changed word in three hundred changes three bits at most', () => {
  const text = words(300, 1);
  const first = of(`<p>${text.join(' ')}</p>`);
  let near = 0;
  for (let at = 0; at < 300; at += 10) {
    const changed = text.with(at, `session${at}`);
    if (bitsBetween(first, of(changed.join(' '))) <= 3) near++;
  }
  assert.ok(near >= 27, `${near} of 30`);
});

test('simhash: pages of different words have distant fingerprints', () => {
  const prints = Array.from({ length: 30 }, (_, n) => of(words(100, n + 1).join(' ')));
  for (const [n, a] of prints.entries()) {
    for (const b of prints.slice(n + 1)) assert.ok(bitsBetween(a, b) > 8);
  }
});

test('simhash: markup, scripts, styles and case are ignored, but the order of words counts', () => {
  const text = words(60, 7);
  const plain = of(text.join(' '));
  const dressed =
    `<html><style>p { color: red }</style><SCRIPT>if (a < b) "<p>"</SCRIPT><a href="/x?s=1">` +
    `${text.join(' </b><b> ').toUpperCase()}</a></html>`;
  assert.equal(of(dressed), plain);
  assert.notEqual(of(text.toReversed().join(' ')), plain);
});

test('simhash: a text of few words has none, and unclosed tags cost linear time', () => {
  assert.equal(simhashOf(`<p>${words(19, 1).join(' ')}</p>`, wordsMin), null);
  assert.equal(simhashOf('', wordsMin), null);
  for (const part of ['<script>', '<', '</']) {
    assertLinear(part, (size) => simhashOf(`<style>${part.repeat(size)}`, wordsMin), 500_000);
    assertLinear(part, (size) => simhashOf(part.repeat(size), wordsMin), 500_000);
  }
});

test('simhash: a character that is not a letter changes nothing, whichever way the text is read', () => {
  const text = words(200, 3);
  const half = text.slice(0, 100).join(' ');
  const rest = text.slice(100).join(' ');
  const plain = of(`<p>${half}</p><p>${rest}</p>`);
  for (const sign of ['\u2014', '\u00a7', '\ud83d\ude80']) {
    assert.equal(of(`<p>${half} ${sign}</p><p>${rest}</p>`), plain);
    assert.equal(of(`<p>${half}</p><p>${sign}${rest}</p>`), plain);
    assert.equal(of(`<p title="${sign}">${half}</p>${sign}<p>${rest}</p>`), plain);
  }
});

test('simhash: a word of millions of letters counts as one', () => {
  const text = words(60, 9).join(' ');
  const long = 'a'.repeat(5_000_000);
  assert.equal(of(`${text} ${long} \u4e00`), of(`${text} ${long}<p>\u4e00`));
});

test('simhash: words of any script count, whatever their case', () => {
  const text = words(60, 9).map((word) => `ж${word}`);
  const letters = of(text.join(' '));
  assert.equal(of(text.join(' ').toUpperCase()), letters);
  assert.notEqual(of(words(60, 9).join(' ')), letters);
});
