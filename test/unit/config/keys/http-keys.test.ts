// The keys about requests: what is refused, and what becomes of a path.

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
  test(`http: ${key} ${value} is refused`, () => {
    const [name] = key!.split(/[[.]/);
    const problem = onlyProblem(`${seeds}http:\n  ${name}: ${value}\n`);
    assert.equal(problem.path, `http.${key}`);
  });
}

test('http: a file of authorities that is missing or holds none is refused', () => {
  const config = `${seeds}http: { tls: { ca: none.pem } }\n`;
  assert.equal(onlyProblem(config).path, 'http.tls.ca');
  assert.match(onlyProblem(config).message, /ENOENT/);
});

test('http: the file of authorities is looked for beside the config', () => {
  const config = good(`${seeds}http: { tls: { ca: own.pem } }\n`, {
    files: { 'own.pem': '-----BEGIN CERTIFICATE-----\n' },
  });
  assert.ok(path.isAbsolute(config.http.tls.ca ?? ''));
});

test('http: all of the keys can be given', () => {
  const http =
    'contentTypes: [text/*], proxy: "http://u:p@[::1]:3128", cookies: true, http2: false';
  const config = good(`${plain.replace('http: {', `http: { ${http}, `)}`);
  assert.equal(config.http.proxy, 'http://u:p@[::1]:3128');
});
