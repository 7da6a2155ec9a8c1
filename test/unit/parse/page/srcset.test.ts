import assert from 'node:assert/strict';
import { test } from 'node:test';
import { srcsetUrls } from '../../../../agent/parse/page/srcset.ts';
import { assertLinear } from '../../../checkers/linear-cost.ts';
import { absent, independentCases } from '../../url/independent-cases.ts';

const meta = independentCases<{ srcset: { srcset: string; chosen: string }[] }>('html_meta.json');

test('srcset: gives every candidate in order', () => {
  assert.deepEqual(srcsetUrls('a.png, b.png 2x,c.png 300w 200h'), ['a.png', 'b.png', 'c.png']);
  assert.deepEqual(srcsetUrls(' , a,b 1x ,, c, '), ['a,b', 'c']);
});

test('srcset: commas may be part of a URL or of a descriptor in parentheses', () => {
  assert.deepEqual(srcsetUrls('data:image/png;base64,AA= 1x, b'), [
    'data:image/png;base64,AA=',
    'b',
  ]);
  assert.deepEqual(srcsetUrls('a (x, y 1x), b'), ['a', 'b']);
});

test('srcset: contradictory descriptors drop only their own candidate', () => {
  assert.deepEqual(srcsetUrls('a 1x 1w, b, c 0w, d 5h, e -1x'), ['b']);
});

test('srcset: hostile values cost linear time', () => {
  for (const unit of [',', 'a ', 'a (', 'a,', '1w ']) {
    assertLinear(unit, (size) => srcsetUrls(unit.repeat(size)), 300_000);
  }
});

test('independent cases: give the candidate that a browser chooses first', {
  skip: absent(meta),
}, () => {
  for (const { srcset, chosen } of meta!.srcset) {
    assert.equal(srcsetUrls(srcset)[0] ?? '', chosen, srcset);
  }
});
