import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scope, type ScopeRules } from '../../../agent/url/scope.ts';

function admits(rules: Partial<ScopeRules>, identity: string): boolean {
  const scope = new Scope({ hosts: ['*'], include: [], exclude: [], ...rules });
  return scope.admits(new URL(identity).hostname, identity);
}

test('scope: a host pattern is that host alone', () => {
  assert.ok(admits({ hosts: ['a.test'] }, 'http://a.test/'));
  assert.ok(!admits({ hosts: ['a.test'] }, 'http://www.a.test/'));
  assert.ok(!admits({ hosts: ['a.test'] }, 'http://ba.test/'));
});

test('scope: *.h is the subdomains of h at any depth, not h', () => {
  assert.ok(admits({ hosts: ['*.a.test'] }, 'http://x.y.a.test/'));
  assert.ok(!admits({ hosts: ['*.a.test'] }, 'http://a.test/'));
  assert.ok(!admits({ hosts: ['*.a.test'] }, 'http://xa.test/'));
});

test('scope: no host pattern admits nothing, * everything', () => {
  assert.ok(!admits({ hosts: [] }, 'http://a.test/'));
  assert.ok(admits({ hosts: ['*'] }, 'http://[::1]/'));
});

test('scope: patterns are compared as URL.hostname writes hosts', () => {
  assert.ok(admits({ hosts: ['*.BÜCHER.test.'] }, 'http://www.bücher.test/'));
  assert.ok(admits({ hosts: ['[::0:1]'] }, 'http://[::1]/'));
});

test('scope: exclude wins over include', () => {
  const rules = { include: [/\/docs\//], exclude: [/\.zip$/] };
  assert.ok(admits(rules, 'http://a.test/docs/x'));
  assert.ok(!admits(rules, 'http://a.test/blog/x'));
  assert.ok(!admits(rules, 'http://a.test/docs/x.zip'));
});

test('scope: covers the hosts, whichever of their URLs it admits', () => {
  const scope = new Scope({ hosts: ['*.a.test'], include: [/docs/], exclude: [/./] });
  assert.ok(scope.covers('www.a.test'));
  assert.ok(!scope.covers('a.test'));
});

test('scope: a pattern with the flag g answers the same twice', () => {
  const scope = new Scope({ hosts: ['*'], include: [/x/g], exclude: [] });
  assert.ok(scope.admits('a.test', 'http://a.test/x'));
  assert.ok(scope.admits('a.test', 'http://a.test/x'));
});

test('scope: what is no host is refused by name', () => {
  for (const pattern of [
    'a.test/x',
    'http://a.test',
    'a.test:80',
    'u@a.test',
    '',
    '*.',
    'a.*',
    'a b',
  ]) {
    assert.throws(() => new Scope({ hosts: [pattern], include: [], exclude: [] }), RangeError);
  }
});

test('scope: the verdict is that of admits, and names the rule', () => {
  const rules = {
    hosts: ['a.test', '*.b.test'],
    include: [/\/docs\//],
    exclude: [/\.zip$/],
  };
  const told: [string, string, string][] = [
    ['a.test', '/docs/x', 'scope.include: \\/docs\\/'],
    ['a.test', '/docs/x.zip', 'scope.exclude: \\.zip$'],
    ['a.test', '/blog', 'no entry of scope.include'],
    ['c.test', '/docs/x', 'no entry of scope.hosts covers c.test'],
  ];
  const scope = new Scope(rules);
  for (const [host, path, rule] of told) {
    const { admitted, rule: said } = scope.verdict(host, `http://${host}${path}`);
    assert.equal(said, rule);
    assert.equal(admitted, scope.admits(host, `http://${host}${path}`));
  }
  const open = new Scope({ hosts: ['a.test', '*.b.test'], include: [], exclude: [] });
  assert.equal(open.verdict('a.test', 'http://a.test/').rule, 'scope.hosts: a.test');
  assert.equal(open.verdict('x.y.b.test', 'http://x.y.b.test/').rule, 'scope.hosts: *.b.test');
  const every = new Scope({ hosts: ['*'], include: [], exclude: [] });
  assert.equal(every.verdict('a.test', 'http://a.test/').rule, 'scope.hosts: *');
});
