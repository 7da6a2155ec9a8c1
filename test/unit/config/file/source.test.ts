import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../../../config/file/load.ts';
import { formatProblems } from '../../../../config/file/problem.ts';
import { bad, newDirectory, onlyProblem, plain } from '../written-config.ts';

function problemOf(file: string, cwd: string) {
  const loaded = loadConfig(file, { cwd });
  assert.ok(!loaded.ok);
  assert.equal(loaded.problems.length, 1);
  return loaded.problems[0]!;
}

test('source: refuses a file that is missing, a directory, too large or not UTF-8', () => {
  const cwd = newDirectory();
  fs.writeFileSync(path.join(cwd, 'huge.yaml'), `# ${'x'.repeat(1024 ** 2)}\n${plain}`);
  fs.writeFileSync(path.join(cwd, 'latin1.yaml'), Buffer.from('name: caf\xe9\n', 'latin1'));
  for (const [file, message] of [
    ['none.yaml', /does not exist/],
    ['huge.yaml/none.yaml', /does not exist/],
    ['.', /is a directory/],
    ['huge.yaml', /larger than 1048576 bytes/],
    ['latin1.yaml', /not UTF-8/],
  ] as const) {
    const problem = problemOf(file, cwd);
    assert.equal(problem.code, 'config-unreadable', file);
    assert.match(problem.message, message);
    assert.notEqual(problem.remedy, '');
    assert.equal(problem.file, path.resolve(cwd, file));
  }
});

for (const [what, text, line, message] of [
  ['an empty file', '', 1, /is empty/],
  ['a file of comments', '# nothing\n\n', 1, /is empty/],
  ['a list', '- a\n- b\n', 1, /not a map/],
  ['a word', 'hello', 1, /not a map/],
  ['a bracket left open', `${plain}scope: { hosts: ["*"\nname: x\n`, 4, /./],
  ['a tab as indentation', `${plain}limits:\n\tpages: 3\n`, 4, /tab/],
  ['a key given twice', `${plain}name: a\nname: b\n`, 4, /twice/],
  ['a nested key given twice', `${plain}limits:\n  pages: 1\n  pages: 2\n`, 5, /twice/],
  ['a second document', `${plain}---\nname: b\n`, 3, /second document/],
  ['an alias', 'seeds: &s [https://example.org/]\nseedFiles: *s\n', 2, /alias/],
  ['an alias of nothing', `${plain}name: *nobody\n`, 3, /alias/],
  ['a merge key', 'a: &a { name: x }\nb:\n  <<: *a\n', 3, /alias/],
  ['a tag', `${plain}name: !env HOME\n`, 3, /tag/],
  ['thousands of brackets', '['.repeat(5000), 1, /nested/],
] as const) {
  test(`source: refuses ${what}, with its line`, () => {
    const problem = onlyProblem(text);
    assert.equal(problem.code, 'config-syntax');
    assert.equal(problem.line, line);
    assert.match(problem.message, message);
    assert.notEqual(problem.remedy, '');
  });
}

test('source: refuses aliases that would expand a billionfold', () => {
  const levels = Array.from({ length: 30 }, (_, k) =>
    k === 0 ? 'l0: &l0 [x, x]' : `l${k}: &l${k} [*l${k - 1}, *l${k - 1}]`,
  );
  const problems = bad(levels.join('\n'));
  assert.ok(problems.every((problem) => /alias/.test(problem.message)));
});

test('source: reports every duplicate key', () => {
  const problems = bad(`${plain}name: a\nname: b\nagent: { threads: 1, threads: 2 }\n`);
  assert.deepEqual(
    problems.map((problem) => problem.line),
    [4, 5],
  );
});

test('problem: a line names file, line, column, key, problem and remedy', () => {
  const line = formatProblems(bad(`${plain}limits: { pages: many }\n`));
  assert.match(line, /crawl\.yaml:3:18: limits\.pages: must be .*, not "many"; for example/);
});

test('problem: shows the first fifty of many problems, and counts the others', () => {
  const seeds = Array.from({ length: 80 }, (_, k) => `  - nothing${k}`).join('\n');
  const lines = formatProblems(bad(`seeds:\n${seeds}\n`)).split('\n');
  assert.equal(lines.length, 51);
  assert.match(lines[0]!, /crawl\.yaml:2:5: seeds\[0\]/);
  assert.match(lines[50]!, /30 more/);
});
