import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CrawlUrl, parseCrawlUrl } from '../../../agent/url/crawl-url.ts';
import { IdentityRules, type IdentityRulesConfig } from '../../../agent/url/identity-rules.ts';
import { assertLinear } from '../../checkers/linear-cost.ts';
import { absent, independentCases } from './independent-cases.ts';

const OFF: IdentityRulesConfig = { dropParameters: [], dropTracking: false, dropSessions: false };

function identity(text: string, config: Partial<IdentityRulesConfig>): string {
  const rules = new IdentityRules({ ...OFF, ...config });
  const url = rules.apply(parsed(text));
  assert.equal(
    rules.apply(parsed(url.identity)).identity,
    url.identity,
    'the rules are idempotent',
  );
  return url.identity.replace('http://a.test', '');
}

function parsed(text: string): CrawlUrl {
  const url = parseCrawlUrl(text, 'http://a.test/');
  assert.ok(!('refused' in url), text);
  return url;
}

test('identity rules: nothing is dropped without rules', () => {
  const text = '/x;jsessionid=1?utm_source=a&PHPSESSID=b';
  assert.equal(identity(text, {}), text);
});

test('identity rules: the request keeps what the identity drops', () => {
  const rules = new IdentityRules({ ...OFF, dropTracking: true });
  const url = rules.apply(parsed('/%7e?utm_source=a&b=1#c'));
  assert.deepEqual(url, {
    identity: 'http://a.test/~?b=1',
    fetchUrl: 'http://a.test/%7e?utm_source=a&b=1',
    host: 'a.test',
  });
});

const DROPPED: [config: Partial<IdentityRulesConfig>, text: string, left: string][] = [
  [{ dropParameters: ['a'] }, '/?a=1&b=2&a&A=3&aa=4', '/?b=2&aa=4'],
  [{ dropParameters: ['a'] }, '/?b=2&&a=1&', '/?b=2&&'],
  [{ dropParameters: ['a'] }, '/?a=1', '/'],
  [{ dropParameters: ['a'] }, '/?', '/?'],
  [{ dropParameters: ['a*'] }, '/?a=1&ab=2&ba=3', '/?ba=3'],
  [{ dropParameters: ['v'] }, '/p;v=1/q;w=2;v?x;v=1', '/p/q;w=2?x;v=1'],
  [{ dropParameters: ['v'] }, '/p/..;v=1/q', '/q'],
  [{ dropTracking: true }, '/?UTM_Campaign=x&gclid=y&id=1', '/?id=1'],
  [{ dropTracking: true }, '/?PHPSESSID=x', '/?PHPSESSID=x'],
  [{ dropSessions: true }, '/?utm_source=x', '/?utm_source=x'],
  [{ dropSessions: true }, '/a.jsp;jsessionid=F00.node1!7?b=1', '/a.jsp?b=1'],
  [{ dropSessions: true }, '/?phpsessid=1&b&CFID=1&CFTOKEN=2', '/?b'],
  [{ dropSessions: true }, '/?sid=12', '/?sid=12'],
  [{ dropSessions: true }, '/?sid=0123456789abcdef&b=1', '/?b=1'],
  [{ dropSessions: true }, '/(S(lit3py55t21z5v55vlm25s55))/x.aspx', '/x.aspx'],
  [{ dropSessions: true }, '/a/(lit3py55t21z5v55vlm25s55);sid=0123456789abcdef/x', '/a/x'],
  [{ dropSessions: true }, '/(draft)/x', '/(draft)/x'],
];

for (const [config, text, left] of DROPPED) {
  test(`identity rules: ${JSON.stringify(config)} makes ${text} ${left}`, () => {
    assert.equal(identity(text, config), left);
  });
}

test('identity rules: hostile URLs cost linear time', () => {
  const rules = { dropParameters: ['a'], dropSessions: true };
  for (const unit of ['/(a(', ';', '&', 'sid=', '/(0123456789abcdefghijklmn)', ';a=1/..']) {
    assertLinear(`/${unit}`, (size) => identity(`/${unit.repeat(size)}`, rules), 50_000);
    assertLinear(`/?${unit}`, (size) => identity(`/?${unit.repeat(size)}`, rules), 50_000);
  }
});

interface CanonRow {
  id: string;
  in: string;
  out: string;
  profile: string;
}
const canon = independentCases<CanonRow[]>('url_canon.json');

test('independent cases: parameters to remove', { skip: absent(canon) }, () => {
  const rows = canon!.filter(({ profile }) => /removeParams\(/.test(profile));
  for (const row of rows) {
    const dropParameters = /removeParams\(([^)]*)\)/.exec(row.profile)![1]!.split(',');
    const url = parseCrawlUrl(row.in);
    assert.ok(!('refused' in url), row.id);
    const { identity } = new IdentityRules({ ...OFF, dropParameters }).apply(url);
    const expected = parseCrawlUrl(row.out);
    assert.equal(identity, 'refused' in expected ? null : expected.identity, row.id);
  }
  assert.ok(rows.length > 0);
});
