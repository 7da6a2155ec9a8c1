import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productTokenOf } from '../../../agent/robots/product-token.ts';
import { absent, independentCases } from '../url/independent-cases.ts';

const extra = independentCases<{ productToken: { agent: string; valid: boolean }[] }>(
  'robots_extra.json',
);

test('token: is the text before a version, comment or space', () => {
  assert.equal(productTokenOf('my-crawl (+https://example.org/bot)'), 'my-crawl');
  assert.equal(productTokenOf('Foo/1.2 Bar/3'), 'Foo');
  assert.equal(productTokenOf('crawler1'), 'crawler1');
});

test('token: there is none if the header does not start with one', () => {
  for (const header of ['', '(x)', '/1', '*']) assert.equal(productTokenOf(header), null);
});

test('independent cases: only invalid tokens are changed', { skip: absent(extra) }, () => {
  for (const { agent, valid } of extra!.productToken) {
    assert.equal(productTokenOf(agent) === agent, valid, agent);
  }
});
