import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { bad, good, newDirectory, onlyProblem, plain, warningsOf } from '../written-config.ts';

const quoted = (text: string) => JSON.stringify(text);

for (const [what, seed] of [
  ['without a scheme', 'example.org'],
  ['without a scheme, with a port', 'localhost:8080/'],
  ['that is relative', '/index.html'],
  ['of another scheme', 'ftp://example.org/'],
  ['that is a mail address', 'mailto:a@example.org'],
  ['with a space in the host', 'http://exa mple.org/'],
  ['with a port beyond 65535', 'http://example.org:70000/'],
  ['without a host', 'http://'],
  ['of the root domain', 'http://./'],
  ['with an empty label', 'http://a..b/'],
  ['with a broken address', 'http://[::1/'],
  ['that is empty', ''],
]) {
  test(`values: refuses a seed ${what}, and names it with its line`, () => {
    const problem = onlyProblem(`seeds:\n  - http://fine/\n  - ${quoted(seed!)}\n`);
    assert.deepEqual([problem.path, problem.line], ['seeds[1]', 3]);
    assert.ok(problem.message.includes(quoted(seed!)));
    assert.match(problem.remedy, /http|host/);
  });
}

for (const [what, seed] of [
  ['whose host is longer than any name', `http://${'h'.repeat(256)}/`],
  ['that is longer than any row', `http://fine/${'a'.repeat(8000)}`],
  ['that is too long after escaping', `http://fine/${'\u4e2d'.repeat(900)}`],
]) {
  test(`values: refuses a seed ${what}, and shows a part of it`, () => {
    const problem = onlyProblem(`seeds:\n  - http://fine/\n  - ${quoted(seed!)}\n`);
    assert.deepEqual([problem.path, problem.line], ['seeds[1]', 3]);
    assert.match(problem.message, /\d{3,4} characters/);
    assert.ok(problem.message.length < 300 && problem.remedy !== '');
  });
}

test('values: seed files may have comments, blank lines and CRLF, and add to the seeds', () => {
  const config = good('seeds: [http://a/]\nseedFiles: [s.txt, t.txt]\n', {
    files: {
      's.txt': '\uFEFF# list\r\nhttp://b/#part\r\n\r\n  https://c:8443/x  \r\n',
      't.txt': 'http://d/',
    },
  });
  assert.deepEqual(config.seeds, ['http://a/', 'http://b/#part', 'https://c:8443/x', 'http://d/']);
  assert.deepEqual(config.inlineSeeds, ['http://a/']);
  assert.deepEqual(config.scope.hosts, ['a', 'b', 'c', 'd']);
  assert.deepEqual(
    config.seedFiles.map((file) => path.basename(file)),
    ['s.txt', 't.txt'],
  );
  assert.ok(config.seedFiles.every((file) => path.isAbsolute(file)));
});

test('values: names twenty invalid lines of a seed file, and counts the others', () => {
  const lines = ['http://ok/', ...Array.from({ length: 30 }, (_, k) => `  bad${k}`)];
  const problems = bad('seedFiles: [s.txt]\n', { files: { 's.txt': lines.join('\n') } });
  assert.equal(problems.length, 21);
  assert.equal(path.basename(problems[0]!.file), 's.txt');
  assert.deepEqual([problems[0]!.line, problems[0]!.column], [2, 3]);
  assert.match(problems[0]!.remedy, /https:\/\/bad0/);
  assert.match(problems[20]!.message, /10 more/);
});

test('values: reports an unreadable seed file at its key in the config', () => {
  const problem = onlyProblem('seedFiles:\n  - none.txt\n');
  assert.deepEqual([problem.path, problem.line], ['seedFiles[0]', 2]);
  assert.match(problem.message, /none\.txt does not exist/);
});

test('values: refuses a seed file without seeds', () => {
  const problem = onlyProblem('seedFiles: [s.txt]\n', { files: { 's.txt': '# none yet\n' } });
  assert.equal(problem.path, 'seedFiles');
});

test('values: accepts sitemaps without seeds, and then uses their hosts as the scope', () => {
  const { seeds, scope } = good('sitemaps: [https://example.org/map.xml, http://b.test/f]\n');
  assert.deepEqual([seeds, scope.hosts], [[], ['example.org', 'b.test']]);
  const both = good(`${plain}sitemaps: [https://elsewhere.test/map.xml]\n`);
  assert.deepEqual(both.scope.hosts, ['example.org']);
  assert.equal(onlyProblem('sitemaps: []\n').path, 'seeds');
});

test('values: normalizes host patterns to the form of URL.hostname', () => {
  const hosts = ['EXAMPLE.org', '*.Bücher.example.', '127.1', '[::0001]', '*', 'localhost'];
  assert.deepEqual(good(`${plain}scope: { hosts: ${JSON.stringify(hosts)} }\n`).scope.hosts, [
    'example.org',
    '*.xn--bcher-kva.example',
    '127.0.0.1',
    '[::1]',
    '*',
    'localhost',
  ]);
});

for (const host of [
  '',
  '.',
  'a:80',
  'http://a/',
  'a/b',
  'a.*',
  '**',
  '*.*.a',
  '*a.org',
  '*.',
  '*.127.0.0.1',
  '*.[::1]',
  'u@h',
  'a b',
  'a\\b',
  'a?b',
  'a#b',
  '::1',
  '[::1]:80',
  'a..b',
]) {
  test(`values: ${quoted(host)} is no host pattern`, () => {
    const problem = onlyProblem(`${plain}scope: { hosts: ["*", ${quoted(host)}] }\n`);
    assert.equal(problem.path, 'scope.hosts[1]');
    assert.match(problem.remedy, /"\*\.host"/);
  });
}

test('values: scope.hosts may not be empty, since nothing would be crawled', () => {
  assert.equal(onlyProblem(`${plain}scope: { hosts: [] }\n`).path, 'scope.hosts');
});

test('values: a regular expression must compile', () => {
  const problem = onlyProblem(`${plain}scope:\n  include: ['\\.html$', '(']\n`);
  assert.deepEqual([problem.path, problem.line], ['scope.include[1]', 4]);
  assert.match(problem.message, /does not compile/);
  assert.deepEqual(good(`${plain}scope: { exclude: ['\\.pdf$'] }\n`).scope.exclude, ['\\.pdf$']);
  assert.equal(onlyProblem(`${plain}scope: { exclude: [''] }\n`).path, 'scope.exclude[0]');
});

for (const id of ['a1', 'agent-3', 'crawl.eu-5', '节点7', '_x', 'Ω', 'हिन्दी', 'x'.repeat(64)]) {
  test(`values: ${quoted(id)} is an identifier`, () => {
    const text = `${plain}cluster: { agents: [{ id: ${quoted(id)}, listen: "tcp://h:1" }] }\n`;
    const { agents } = good(text).cluster;
    assert.equal(Array.isArray(agents) && agents[0].id, id);
  });
}

for (const id of [
  '',
  '.',
  '..',
  '.a',
  '-a',
  'a/b',
  'a\\b',
  'a b',
  'a,b',
  'a:b',
  'a\u0000',
  'a\n',
  'x'.repeat(65),
  '𠀀'.repeat(64),
  'cluster.json',
  'complete.json',
]) {
  test(`values: ${quoted(id).slice(0, 40)} is no identifier`, () => {
    const text = `${plain}cluster: { agents: [{ id: ${quoted(id)}, listen: "tcp://h:1" }] }\n`;
    assert.equal(onlyProblem(text).path, 'cluster.agents[0].id');
  });
}

for (const listen of [
  '127.0.0.1:7101',
  'tcp://127.0.0.1',
  'tcp://127.0.0.1:0',
  'tcp://127.0.0.1:65536',
  'tcp://127.0.0.1:*',
  'tcp://:7101',
  'tcp://::1:7101',
  'tcp://[zz]:7101',
  'tcp://a b:7101',
  'ipc:///run/a1',
  'http://127.0.0.1:7101',
  'tcp://127.0.0.1:7101/x',
]) {
  test(`values: ${quoted(listen)} is no endpoint to listen at`, () => {
    const text = `${plain}cluster: { agents: [{ id: a, listen: ${quoted(listen)} }] }\n`;
    const problem = onlyProblem(text);
    assert.equal(problem.path, 'cluster.agents[0].listen');
    assert.match(problem.remedy, /tcp:\/\/HOST:PORT/);
  });
}

for (const capacity of ['0', '-1', '1000.1', '.inf', '.nan', '"1"']) {
  test(`values: refuses a capacity of ${capacity}`, () => {
    const agent = `{ id: a, listen: "tcp://h:1", capacity: ${capacity} }`;
    const problem = onlyProblem(`${plain}cluster: { agents: [${agent}] }\n`);
    assert.equal(problem.path, 'cluster.agents[0].capacity');
  });
}

for (const agent of ['', ' bot', 'bot ', 'bot\r\nX: 1', 'bot\tx', 'bøt', 'bot 🤖', '(x)', '9bot']) {
  test(`values: ${quoted(agent)} is no user agent`, () => {
    const text = `seeds: [http://h/]\nhttp: { userAgent: ${quoted(agent)} }\n`;
    assert.equal(onlyProblem(text).path, 'http.userAgent');
  });
}

test('values: warns of seeds outside the scope, but accepts them', () => {
  const [warning] = warningsOf(`${plain}scope: { hosts: ["*.example.org"] }\n`);
  assert.match(warning ?? '', /leaves out 1 of 1 seeds.*https:\/\/example\.org\//);
  assert.deepEqual(warningsOf(`${plain}scope: { hosts: ["*.org"] }\n`), []);
});

test('values: refuses a named pipe as a seed file, and does not block on it', (t) => {
  if (process.platform === 'win32') return t.skip('no named pipes in the file system');
  const pipe = path.join(newDirectory(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const problem = onlyProblem(`seedFiles: [${JSON.stringify(pipe)}]\n`);
  assert.match(problem.message, /not a regular file/);
});
