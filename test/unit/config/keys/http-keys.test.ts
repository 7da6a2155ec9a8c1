// The `http` keys: which values are refused, and how a path is resolved.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { good, onlyProblem, plain } from '../written-config.ts';

const seeds = 'seeds: [http://a/]\n';

for (const [key, value] of [
  ['proxy', 'https://proxy.test:3128'],
  ['proxy', 'http://proxy.test:3128/path'],
  ['proxy', 'proxy.test:3128'],
  ['contentTypes[0]', '[html]'],
  ['contentTypes[0]', '["text/html; charset=utf-8"]'],
  ['dns.family', '{ family: ipv5 }'],
]) {
  test(`http: refuses ${key} ${value}`, () => {
    const [name] = key!.split(/[[.]/);
    const problem = onlyProblem(`${seeds}http:\n  ${name}: ${value}\n`);
    assert.equal(problem.path, `http.${key}`);
  });
}

test('http: refuses a missing file of certificate authorities', () => {
  const config = `${seeds}http: { tls: { ca: none.pem } }\n`;
  assert.equal(onlyProblem(config).path, 'http.tls.ca');
  assert.match(onlyProblem(config).message, /ENOENT/);
});

test('http: resolves the file of certificate authorities beside the config', () => {
  const config = good(`${seeds}http: { tls: { ca: own.pem } }\n`, {
    files: { 'own.pem': '-----BEGIN CERTIFICATE-----\n' },
  });
  assert.ok(path.isAbsolute(config.http.tls.ca ?? ''));
});

test('http: accepts all keys together', () => {
  const http =
    'contentTypes: [text/*], proxy: "http://u:p@[::1]:3128", cookies: true, http2: false';
  const config = good(`${plain.replace('http: {', `http: { ${http}, `)}`);
  assert.equal(config.http.proxy, 'http://u:p@[::1]:3128');
});
