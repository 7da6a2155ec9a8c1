// Shows that each tidy rule catches its offence, and accepts code that looks similar.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deadExports } from '../../tidy/exports.ts';
import { oneWay } from '../../tidy/imports.ts';
import { ambient, sql } from '../../tidy/reach.ts';
import * as shape from '../../tidy/shape.ts';
import type { Rule } from '../../tidy/source.ts';

type Files = Readonly<Record<string, string>>;

/** Everything that the rule finds in the files, as `path:line: what`. */
function found(rule: Rule, files: Files): string[] {
  const sources = Object.entries(files).map(([path, text]) => ({ path, text }));
  return rule.check(sources).map(({ path, line, what }) => `${path}:${line}: ${what}`);
}

/** The text of a file with one import, written so that this file does not import it itself. */
const imports = (specifier: string, type = '') => `import ${type}{ a } from '${specifier}';\n`;

describe('tidy: folders', () => {
  it('catches imports in both directions between two folders, even if one is a type import', () => {
    const files = {
      'agent/core/a.ts': imports('../fetch/b.ts'),
      'agent/fetch/b.ts': '',
      'agent/fetch/c.ts': `\n${imports('../core/d.ts', 'type ')}`,
      'agent/core/d.ts': '',
    };
    const way = 'agent/core > agent/fetch > agent/core';
    assert.deepEqual(found(oneWay, files), [`agent/fetch/c.ts:2: ${way}`]);
  });

  it('catches a cycle of three folders, and accepts two paths to one folder', () => {
    const circle = {
      'config/a.ts': imports('./keys/b.ts'),
      'config/keys/b.ts': "type C = import('../values/c.ts').C;\n",
      'config/values/c.ts': "const a = import('../a.ts');\n",
    };
    assert.equal(found(oneWay, circle).length, 1);
    const diamond = {
      'config/a.ts': imports('./keys/b.ts') + imports('./values/c.ts'),
      'config/keys/b.ts': imports('../values/c.ts'),
      'config/values/c.ts': imports('./d.ts'),
      'config/values/d.ts': '',
    };
    assert.deepEqual(found(oneWay, diamond), []);
  });

  it('treats agent.ts and main.ts as folders of their own', () => {
    const files = {
      'agent/main.ts': imports('./cli/run.ts'),
      'agent/cli/run.ts': imports('../agent.ts'),
      'agent/agent.ts': '',
    };
    assert.deepEqual(found(oneWay, files), []);
    const circle = { ...files, 'agent/agent.ts': imports('./cli/run.ts') };
    assert.equal(found(oneWay, circle).length, 1);
  });

  it('catches a folder of 15 files, and accepts one of 14 files with a subfolder', () => {
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`agent/url/a${n}.ts`, '']));
    assert.deepEqual(found(shape.folderSize, files(15)), ['agent/url:1: 15 files']);
    assert.deepEqual(found(shape.folderSize, { ...files(14), 'agent/url/key/b.ts': '' }), []);
  });

  it('catches a file beside agent.ts, and two files with the same name', () => {
    const files = {
      'agent/agent.ts': '',
      'agent/main.ts': '',
      'agent/end.ts': '',
      'config/end.ts': '',
    };
    assert.deepEqual(found(shape.agentFolder, files), ['agent/end.ts:1: lies directly in agent/']);
    assert.deepEqual(found(shape.uniqueNames, files), [
      'config/end.ts:1: has the name of agent/end.ts',
    ]);
  });

  it('catches a unit test without a source file, and accepts several tests of one file', () => {
    const files = {
      'agent/core/hand-off/hand-off.ts': '',
      'config/load.ts': '',
      'test/unit/core/hand-off/hand-off.test.ts': '',
      'test/unit/core/hand-off/hand-off-late-lists.test.ts': '',
      'test/unit/core/hand-off/slow/hand-off.test.ts': '',
      'test/unit/config/load.test.ts': '',
      'test/unit/web/model.test.ts': '',
      'test/unit/core/hand-off.test.ts': '',
      'test/unit/core/hand-off/hand.test.ts': '',
      'test/unit/core/slow/hand.test.ts': '',
    };
    assert.deepEqual(found(shape.mirroredTests, files), [
      'test/unit/core/hand-off.test.ts:1: tests no file of that path',
      'test/unit/core/hand-off/hand.test.ts:1: tests no file of that path',
      'test/unit/core/slow/hand.test.ts:1: tests no file of that path',
    ]);
  });
});

describe('tidy: shape', () => {
  const lines = (count: number) => '//\n'.repeat(count);

  it('catches a file of 501 lines, and accepts one of 500', () => {
    assert.deepEqual(found(shape.fileLength, { 'a.ts': lines(501) }), ['a.ts:1: 501 lines']);
    assert.deepEqual(found(shape.fileLength, { 'a.ts': lines(500) }), []);
  });

  it('catches functions and methods of 71 lines, and accepts those of 70', () => {
    const body = (count: number) => `{\n${lines(count - 2)}}`;
    const file = (count: number) =>
      ['//', `function f() ${body(count)}`, `class C { m() ${body(count)} }`]
        .concat(`const g = () => ${body(count)};`)
        .join('\n');
    assert.deepEqual(found(shape.functionLength, { 'a.ts': file(71) }), [
      'a.ts:2: f: 71 lines',
      'a.ts:73: m: 71 lines',
      'a.ts:144: a function: 71 lines',
    ]);
    assert.deepEqual(found(shape.functionLength, { 'a.ts': file(70) }), []);
    assert.deepEqual(found(shape.functionLength, { 'a.test.ts': file(90) }), []);
  });

  it('accepts a long table of prepared statements, but no other long function', () => {
    const table = (name: string, before = '') =>
      `function ${name}(db: Db) {\n${before}  return {\n${lines(80)}  };\n}`;
    const path = 'agent/storage/a.ts';
    assert.deepEqual(found(shape.functionLength, { [path]: table('statements') }), []);
    for (const [at, text] of [
      [path, table('other')],
      [path, table('statements', 'check(db);\n')],
      ['agent/core/a.ts', table('statements')],
    ] as const) {
      assert.equal(found(shape.functionLength, { [at]: text }).length, 1);
    }
  });

  it('catches a file that opens with code, even after a #! line', () => {
    const files = {
      'a.ts': 'const a = 1;\n// late',
      'b.ts': '#!/usr/bin/env node\nconst a = 1;',
      'c.ts': '// what it is\n',
      'd.ts': '#!/usr/bin/env node\n/** What it is. */\n',
    };
    assert.deepEqual(
      found(shape.opening, files).map((offence) => offence.slice(0, 4)),
      ['a.ts', 'b.ts'],
    );
  });

  it('catches vague or badly formed file names, and barrels', () => {
    const bad = ['index.ts', 'urlKey.ts', 'Ring.ts', 'url-utils.ts', 'peer-manager.ts', 'a_b.ts'];
    const good = ['url-key.ts', 'ring.test.ts', 'mt64.ts', 'globals.d.ts', 'database.ts'];
    const files = Object.fromEntries([...bad, ...good].map((name) => [`agent/core/${name}`, '//']));
    assert.equal(found(shape.fileNames, files).length, bad.length);
  });

  it('catches enum, any, namespace and export *, and accepts the words elsewhere', () => {
    const bad = 'enum E {}\nlet a: any;\nlet b: any[];\nnamespace N {}\nexport * from "./b.ts";';
    assert.deepEqual(found(shape.language, { 'a.ts': bad }), [
      'a.ts:1: enum',
      'a.ts:2: any',
      'a.ts:3: any',
      'a.ts:4: namespace',
      'a.ts:5: export *',
    ]);
    const good = '// any enum\nconst any = "enum"; export { any };';
    assert.deepEqual(found(shape.language, { 'a.ts': good }), []);
  });

  it('catches marks of unfinished work, in documents too', () => {
    const mark = ['TO', 'DO'].join('');
    const files = { 'a.ts': `//\n// ${mark}: later`, 'docs/b.md': `${['FIX', 'ME'].join('')}` };
    assert.deepEqual(found(shape.finished, files), [
      `a.ts:2: ${mark}: later`,
      `docs/b.md:1: ${['FIX', 'ME'].join('')}`,
    ]);
    assert.deepEqual(found(shape.finished, { 'a.ts': '// todos and methods' }), []);
  });

  it('catches paths that exist on one machine only', () => {
    const rule = shape.machinePaths(['/srv/build', '/']);
    const home = ['', 'home', 'someone', 'x'].join('/');
    const files = {
      'docs/a.md': `see ${home}/y and\n/srv/build/out`,
      'b.ts': "'/srv/builder'; 'http://h/srv/build'; 'a/srv/build'; '/home/index.html'; '/srv'",
    };
    const expected = [`docs/a.md:1: ${home}/y`, 'docs/a.md:2: /srv/build/out'];
    assert.deepEqual(found(rule, files), expected);
  });
});

describe('tidy: reach', () => {
  const uses = [
    ...['Date.now()', 'new Date()', 'Date()', 'performance.now()', 'Math.random()'],
    ...['setTimeout(f, 1)', 'setInterval(f, 1)', 'setImmediate(f)', 'globalThis.setTimeout(f, 1)'],
    ...['const later = setTimeout', 'const now = Date.now', 'process.hrtime.bigint()'],
    ...['crypto.randomUUID()', 'randomBytes(4)'],
    "import { setTimeout as s } from 'node:timers/promises'",
  ];
  for (const use of uses) {
    it(`catches ${use} in the core, not in the runtime`, () => {
      assert.ok(found(ambient, { 'agent/core/a.ts': `\n${use};` }).length >= 1);
      assert.deepEqual(found(ambient, { 'agent/runtime/a.ts': use, 'test/a.ts': use }), []);
    });
  }

  it('accepts timers in I/O code, but no clock', () => {
    const timer = 'setTimeout(f, 1);';
    const places = [
      'agent/fetch/a.ts',
      'agent/parse/parse-pool.ts',
      'agent/agent.ts',
      'agent/cli/a.ts',
    ];
    for (const path of places) {
      assert.deepEqual(found(ambient, { [path]: timer }), [], path);
      assert.deepEqual(found(ambient, { [path]: 'Date.now();' }), [`${path}:1: Date.now`]);
    }
    assert.equal(found(ambient, { 'agent/parse/page/page.ts': timer }).length, 1);
    assert.equal(found(ambient, { 'agent/storage/a.ts': timer }).length, 1);
  });

  it('accepts the date of a given time, and members with the same names', () => {
    const text = 'new Date(now); port.setTimeout(1); const o = { setTimeout: 1 }; // Date.now()';
    assert.deepEqual(found(ambient, { 'agent/core/a.ts': text }), []);
  });

  it('catches SQL outside the storage, in every kind of string', () => {
    const bad = [
      "'SELECT url FROM pages'",
      '`INSERT OR IGNORE INTO pages VALUES (1)`',
      `\`UPDATE \${table} SET state = 1\``,
      '"DELETE FROM pages"',
      "'PRAGMA user_version'",
      "'CREATE TABLE a (b)'",
    ];
    for (const text of bad) {
      assert.equal(found(sql, { 'agent/frontier/a.ts': `x(${text});` }).length, 1, text);
      const places = {
        'agent/storage/a.ts': text,
        'agent/cli/query/query-command.ts': text,
        'test/a.ts': text,
      };
      assert.deepEqual(found(sql, places), []);
    }
    const prose = "'select one from the list, then update it'; // SELECT a FROM b";
    assert.deepEqual(found(sql, { 'agent/frontier/a.ts': prose }), []);
  });
});

describe('tidy: dead exports', () => {
  const user = { 'agent/main.ts': "import { used, type T } from './core/a.ts';\nused as T;" };

  it('catches exports that no file imports, or that only tests import', () => {
    const files = {
      ...user,
      'agent/core/a.ts':
        'export const used = 1, unused = 2;\nexport type T = 1;\nexport function tested() {}',
      'test/unit/a.test.ts': "import { tested } from '../../agent/core/a.ts';",
    };
    assert.deepEqual(found(deadExports({}), files), [
      'agent/core/a.ts:1: unused: used by no shipped code',
      'agent/core/a.ts:3: tested: used by no shipped code',
    ]);
  });

  it('accepts types of exported signatures, and constants that the file and a test read', () => {
    const files = {
      ...user,
      'agent/core/a.ts': [
        'export const sizeMax = 1, widthMax = 2;',
        'export interface Options { size: number }',
        'export type T = 1;',
        'export const used = (o: Options) => o.size < sizeMax && widthMax;',
      ].join('\n'),
      'test/unit/a.test.ts': "import { sizeMax } from '../../agent/core/a.ts';",
    };
    assert.deepEqual(found(deadExports({}), files), [
      'agent/core/a.ts:1: widthMax: used in its own file only',
    ]);
  });

  it('recognizes renamed, re-exported, default and namespace imports', () => {
    const files = {
      'agent/main.ts': [
        "import { a as b } from './core/a.ts';",
        "import whole from './core/b.ts';",
        "import * as all from './core/c.ts';",
        "export { d } from './core/d.ts';",
        "new Worker(new URL('./core/e.ts', import.meta.url));",
      ].join('\n'),
      'agent/core/a.ts': 'const x = 1; export { x as a, x as lost };',
      'agent/core/b.ts': 'export default 1;',
      'agent/core/c.ts': 'export const anything = 1;',
      'agent/core/d.ts': 'export const d = 1;',
      'agent/core/e.ts': 'export const e = 1;',
    };
    assert.deepEqual(found(deadExports({}), files), [
      'agent/main.ts:4: d: used by no shipped code',
      'agent/core/a.ts:1: lost: used by no shipped code',
    ]);
  });

  it('accepts allowed exports, and catches allowances that are no longer needed', () => {
    const files = { 'agent/core/a.ts': 'export const a = 1;' };
    assert.deepEqual(found(deadExports({ 'agent/core/a.ts#a': 'reason' }), files), []);
    const stale = found(deadExports({ 'agent/core/a.ts#a': '', 'agent/b.ts#b': '' }), files);
    assert.deepEqual(stale, ['agent/b.ts:1: agent/b.ts#b need not be allowed any more']);
  });
});
