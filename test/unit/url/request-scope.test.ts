import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Identity } from '../../../agent/url/crawl-url.ts';
import { RequestScope } from '../../../agent/url/request-scope.ts';

const SEED = 'http://a.test/' as Identity;
const url = (text: string) => ({ url: text as Identity });

function scopeOf(rules: { hosts?: string[]; include?: RegExp[]; exclude?: RegExp[] }) {
  return new RequestScope({ hosts: ['a.test'], include: [], exclude: [], ...rules }, () => [SEED]);
}

test('request scope: a seed is admitted without matching include', () => {
  const scope = scopeOf({ include: [/\/docs\//] });
  assert.ok(scope.admits('a.test', url(SEED)));
  assert.ok(scope.admits('a.test', url('http://a.test/docs/1')));
  assert.ok(!scope.admits('a.test', url('http://a.test/blog/1')));
  const rule = 'a seed or sitemap; otherwise no entry of scope.include matches';
  assert.deepEqual(scope.verdict('a.test', url(SEED)), { admitted: true, rule });
});

test('request scope: a sitemap is admitted without matching include', () => {
  const sitemap = { ...url('http://a.test/map'), sitemap: true };
  assert.ok(scopeOf({ include: [/\/docs\//] }).admits('a.test', sitemap));
  assert.ok(!scopeOf({ include: [/\/docs\//], exclude: [/map/] }).admits('a.test', sitemap));
  assert.ok(!scopeOf({ include: [/\/docs\//] }).admits('b.test', sitemap));
});

test('request scope: exclude and hosts also apply to seeds', () => {
  assert.ok(!scopeOf({ include: [/docs/], exclude: [/test\/$/] }).admits('a.test', url(SEED)));
  assert.ok(!scopeOf({ exclude: [/test\/$/] }).admits('a.test', url(SEED)));
  assert.ok(!scopeOf({ hosts: ['b.test'] }).admits('a.test', url(SEED)));
});

test('request scope: the robots.txt of a host in scope is admitted whatever the rules for pages', () => {
  const scope = scopeOf({ exclude: [/[.]txt/] });
  assert.ok(scope.admits('a.test', url('http://a.test/robots.txt')));
  assert.ok(!scope.admitsLink('a.test', url('http://a.test/robots.txt')));
  assert.ok(!scope.admits('a.test', url('http://a.test/x/robots.txt')));
  assert.ok(!scope.admits('a.test', url('http://a.test/robots.txt?x')));
  assert.ok(!scope.admits('b.test', url('http://b.test/robots.txt')));
});
