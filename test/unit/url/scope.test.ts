import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scope, type ScopeRules } from '../../../agent/url/scope.ts';

function admits(rules: Partial<ScopeRules>, url: string, fetchUrl?: string): boolean {
  const scope = new Scope({ hosts: ['*'], include: [], exclude: [], ...rules });
  return scope.admits(new URL(url).hostname, fetchUrl === undefined ? { url } : { url, fetchUrl });
}

test('scope: a host pattern without * covers only that host', () => {
  assert.ok(admits({ hosts: ['a.test'] }, 'http://a.test/'));
  assert.ok(!admits({ hosts: ['a.test'] }, 'http://www.a.test/'));
  assert.ok(!admits({ hosts: ['a.test'] }, 'http://ba.test/'));
});

test('scope: *.h covers the subdomains of h at any depth, but not h', () => {
  assert.ok(admits({ hosts: ['*.a.test'] }, 'http://x.y.a.test/'));
  assert.ok(!admits({ hosts: ['*.a.test'] }, 'http://a.test/'));
  assert.ok(!admits({ hosts: ['*.a.test'] }, 'http://xa.test/'));
});

test('scope: an empty list of hosts admits nothing, and * everything', () => {
  assert.ok(!admits({ hosts: [] }, 'http://a.test/'));
  assert.ok(admits({ hosts: ['*'] }, 'http://[::1]/'));
});

test('scope: patterns are normalised as URL.hostname', () => {
  assert.ok(admits({ hosts: ['*.BÜCHER.test.'] }, 'http://www.bücher.test/'));
  assert.ok(admits({ hosts: ['[::0:1]'] }, 'http://[::1]/'));
});

test('scope: exclude wins over include', () => {
  const rules = { include: [/\/docs\//], exclude: [/\.zip$/] };
  assert.ok(admits(rules, 'http://a.test/docs/x'));
  assert.ok(!admits(rules, 'http://a.test/blog/x'));
  assert.ok(!admits(rules, 'http://a.test/docs/x.zip'));
});

test('scope: covers a host independently of the URLs that it admits', () => {
  const scope = new Scope({ hosts: ['*.a.test'], include: [/docs/], exclude: [/./] });
  assert.ok(scope.covers('www.a.test'));
  assert.ok(!scope.covers('a.test'));
});

test('scope: exclude applies to every spelling of a URL', () => {
  const session = 'http://a.test/x?sid=1';
  assert.ok(!admits({ exclude: [/sid=/] }, 'http://a.test/x', session), 'what is requested');
  assert.ok(!admits({ exclude: [/x$/] }, 'http://a.test/x', session), 'the identity');
  assert.ok(
    !admits({ exclude: [/%7E/] }, 'http://a.test/~u/', 'http://a.test/%7Eu/'),
    'as written',
  );
  const both = 'http://a.test/%7Eu/?sid=1';
  assert.ok(!admits({ exclude: [/~u\/\?sid/] }, 'http://a.test/~u/', both), 'canonical, with all');
  assert.ok(admits({ exclude: [/y/] }, 'http://a.test/~u/', both));
});

test('scope: include must match the identity and the canonical spelling of the requested form', () => {
  assert.ok(admits({ include: [/\/~u\//] }, 'http://a.test/~u/', 'http://a.test/%7Eu/'));
  assert.ok(!admits({ include: [/%7E/] }, 'http://a.test/~u/', 'http://a.test/%7Eu/'));
  assert.ok(!admits({ include: [/x$/] }, 'http://a.test/x', 'http://a.test/x?sid=1'));
  assert.ok(!admits({ include: [/sid=/] }, 'http://a.test/x', 'http://a.test/x?sid=1'));
  assert.ok(admits({ include: [/\/x/] }, 'http://a.test/x', 'http://a.test/x?sid=1'));
});

test('scope: the verdict on a requested form names the rule and agrees with admits', () => {
  const url = { url: 'http://a.test/x', fetchUrl: 'http://a.test/x?sid=1' };
  const told: [Partial<ScopeRules>, string][] = [
    [{ exclude: [/sid=/] }, 'scope.exclude: sid='],
    [{ include: [/x$/] }, `no entry of scope.include matches the requested form, ${url.fetchUrl}`],
    [{ include: [/x/] }, 'scope.include: x'],
    [{}, 'scope.hosts: *'],
  ];
  for (const [rules, rule] of told) {
    const scope = new Scope({ hosts: ['*'], include: [], exclude: [], ...rules });
    const verdict = scope.verdict('a.test', url);
    assert.equal(verdict.rule, rule);
    assert.equal(verdict.admitted, scope.admits('a.test', url));
  }
});

test('scope: an invalid host pattern is refused', () => {
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

test('scope: the verdict agrees with admits and names the rule', () => {
  const rules = {
    hosts: ['a.test', '*.b.test'],
    include: [/\/docs\//],
    exclude: [/\.zip$/],
  };
  const told: [string, string, string][] = [
    ['a.test', '/docs/x', 'scope.include: \\/docs\\/'],
    ['a.test', '/docs/x.zip', 'scope.exclude: \\.zip$'],
    ['a.test', '/blog', 'no entry of scope.include matches'],
    ['c.test', '/docs/x', 'no entry of scope.hosts covers c.test'],
  ];
  const scope = new Scope(rules);
  for (const [host, path, rule] of told) {
    const { admitted, rule: said } = scope.verdict(host, { url: `http://${host}${path}` });
    assert.equal(said, rule);
    assert.equal(admitted, scope.admits(host, { url: `http://${host}${path}` }));
  }
  const open = new Scope({ hosts: ['a.test', '*.b.test'], include: [], exclude: [] });
  assert.equal(open.verdict('a.test', { url: 'http://a.test/' }).rule, 'scope.hosts: a.test');
  assert.equal(
    open.verdict('x.y.b.test', { url: 'http://x.y.b.test/' }).rule,
    'scope.hosts: *.b.test',
  );
  const every = new Scope({ hosts: ['*'], include: [], exclude: [] });
  assert.equal(every.verdict('a.test', { url: 'http://a.test/' }).rule, 'scope.hosts: *');
});
