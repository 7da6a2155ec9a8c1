import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestTarget } from '../../../agent/url/request-target.ts';

test('request target: is the path and query as written, without the fragment', () => {
  for (const target of ['/', '/?', '/a?', '/a?b', '/a??', '/a%2F/%zz?q=a|b&&', '/a?b=/?']) {
    assert.equal(requestTarget(new URL(`http://me:pw@a.test:8080${target}`)), target);
    assert.equal(requestTarget(new URL(`https://a.test${target}#top?`)), target);
    assert.equal(requestTarget(new URL(`https://a.test${target}#`)), target);
  }
  assert.equal(requestTarget(new URL('http://a.test')), '/');
  assert.equal(requestTarget(new URL('http://a.test#?')), '/');
  assert.equal(requestTarget(new URL('http://a.test?')), '/?');
});
