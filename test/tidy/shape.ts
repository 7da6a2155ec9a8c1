// Rules about the shape of files: their names, their opening comments, the length of files and
// functions, and features of TypeScript that the code must not use.
import { posix } from 'node:path';
import ts from 'typescript';
import {
  eachNode,
  isShipped,
  isTest,
  isTypeScript,
  matches,
  type Offence,
  offenceAt,
  parse,
  type Rule,
  type SourceText,
} from './source.ts';

const fileLinesMax = 500;
const functionLinesMax = 70;

function lineCount(text: string): number {
  return text.replace(/\n$/, '').split('\n').length;
}

export const fileLength: Rule = {
  claim: `no file is longer than ${fileLinesMax} lines`,
  remedy: 'a file is one concept: split it by what its parts are about',
  check: (sources) =>
    sources
      .filter(isTypeScript)
      .map(({ path, text }) => ({ path, line: 1, lines: lineCount(text) }))
      .filter(({ lines }) => lines > fileLinesMax)
      .map(({ path, line, lines }) => ({ path, line, what: `${lines} lines` })),
};

/**
 * Whether a function is only a table of the storage's prepared SQL, that is, it returns one object
 * literal. Such a table is read by its keys, so splitting it would not make it easier to read.
 */
function isStatementTable(path: string, node: ts.Node): boolean {
  if (!path.startsWith('agent/storage/') || !ts.isFunctionDeclaration(node)) return false;
  const [only, ...others] = node.body?.statements ?? [];
  if (node.name?.text !== 'statements' || only === undefined || others.length > 0) return false;
  const returned = ts.isReturnStatement(only) ? only.expression : undefined;
  return returned !== undefined && ts.isObjectLiteralExpression(returned);
}

/** Excludes tests, because a `describe` is one function around many tests. */
export const functionLength: Rule = {
  claim: `no function is longer than ${functionLinesMax} lines`,
  remedy: 'give a part of it a name and a function of its own',
  check: (sources) =>
    sources
      .filter((source) => isTypeScript(source) && !isTest(source))
      .flatMap((source) => {
        const offences: Offence[] = [];
        eachNode(source, (node) => {
          if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return;
          const lines = lineCount(node.getText(parse(source)));
          if (lines <= functionLinesMax || isStatementTable(source.path, node)) return;
          const name = node.name?.getText() ?? 'a function';
          offences.push(offenceAt(source, node, `${name}: ${lines} lines`));
        });
        return offences;
      }),
};

/** Excludes tests, because their titles say what the file is about. */
export const opening: Rule = {
  claim: 'every file opens with a comment',
  remedy: 'say in two to six sentences what the file is for and why it is built this way',
  check: (sources) =>
    sources
      .filter((source) => isTypeScript(source) && !isTest(source))
      .filter(({ text }) => !/^(#!.*\n)?\s*(\/\/|\/\*)/.test(text))
      .map(({ path }) => ({ path, line: 1, what: 'opens without a comment' })),
};

const folderFilesMax = 14;

export const folderSize: Rule = {
  claim: `no folder of product code has more than ${folderFilesMax} files`,
  remedy: 'a folder is one concept of the field: divide it by what its files are about',
  check: (sources) => {
    const sizes = new Map<string, number>();
    for (const { path } of sources.filter(isShipped)) {
      const folder = posix.dirname(path);
      sizes.set(folder, (sizes.get(folder) ?? 0) + 1);
    }
    return [...sizes]
      .filter(([, size]) => size > folderFilesMax)
      .map(([path, size]) => ({ path, line: 1, what: `${size} files` }));
  },
};

export const agentFolder: Rule = {
  claim: 'agent/ itself contains agent.ts and main.ts alone',
  remedy: 'put the file into the folder of its concept',
  check: (sources) =>
    sources
      .filter(({ path }) => posix.dirname(path) === 'agent')
      .filter(({ path }) => path !== 'agent/agent.ts' && path !== 'agent/main.ts')
      .map(({ path }) => ({ path, line: 1, what: 'lies directly in agent/' })),
};

export const uniqueNames: Rule = {
  claim: 'no two files of product code have the same name',
  remedy: 'name each file for what distinguishes it',
  check: (sources) => {
    const first = new Map<string, string>();
    return sources.filter(isShipped).flatMap(({ path }) => {
      const other = first.get(posix.basename(path));
      first.set(posix.basename(path), other ?? path);
      return other === undefined ? [] : [{ path, line: 1, what: `has the name of ${other}` }];
    });
  },
};

/** Folders of `test/unit` with tests of test code, benchmarks or documents. */
const unitTestsOfOthers = /^test\/unit\/(bench|chaos|docs|pairs|tidy|web)\//;

/**
 * A unit test of `agent/x/y.ts` is `test/unit/x/y.test.ts`; another test of the same file is
 * `y-WHAT.test.ts`. Slow tests are in a folder `slow` beside the others.
 */
export const mirroredTests: Rule = {
  claim: 'a unit test has the path of the file that it tests',
  remedy: 'name the test for the file, with a suffix where the file has several tests',
  check: (sources) => {
    const shipped = new Set(
      sources.filter(isShipped).map(({ path }) => path.replace(/^agent\/|\.ts$/g, '')),
    );
    return sources
      .filter((source) => isTest(source) && source.path.startsWith('test/unit/'))
      .filter(({ path }) => !unitTestsOfOthers.test(path))
      .filter(({ path }) => {
        const words = path.replace(/^test\/unit\/|slow\/(?=[^/]+$)|\.test\.ts$/g, '').split('-');
        return !words.some((_, last) => shipped.has(words.slice(0, last + 1).join('-')));
      })
      .map(({ path }) => ({ path, line: 1, what: 'tests no file of that path' }));
  },
};

const vagueNames = new Set(['manager', 'helper', 'helpers', 'util', 'utils', 'data', 'info']);
const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.d)?\.ts$/;

export const fileNames: Rule = {
  claim: 'file names are kebab-case nouns of the field, and none is index.ts',
  remedy: 'name the file for its one concept; import from the file itself, not from a barrel',
  check: (sources) =>
    sources.filter(isTypeScript).flatMap(({ path }) => {
      const name = path.split('/').at(-1) ?? '';
      const words = name.split('.')[0]?.split('-') ?? [];
      const vague = words.some((word) => vagueNames.has(word));
      const fine = kebabCase.test(name) && !vague && name !== 'index.ts';
      return fine ? [] : [{ path, line: 1, what: name }];
    }),
};

const without: readonly { what: string; is: (node: ts.Node) => boolean }[] = [
  { what: 'enum', is: ts.isEnumDeclaration },
  { what: 'any', is: (node) => node.kind === ts.SyntaxKind.AnyKeyword },
  { what: 'namespace', is: ts.isModuleDeclaration },
  {
    what: 'export *',
    is: (node) => ts.isExportDeclaration(node) && node.exportClause === undefined,
  },
];

export const language: Rule = {
  claim: 'no enum, no any, no namespace, no export *',
  remedy: 'a union of literals, unknown or the real type, a file, the names themselves',
  check: (sources) =>
    sources.filter(isTypeScript).flatMap((source) => {
      const offences: Offence[] = [];
      eachNode(source, (node) => {
        const found = without.find(({ is }) => is(node));
        if (found !== undefined) offences.push(offenceAt(source, node, found.what));
      });
      return offences;
    }),
};

/** Split, so that this file does not violate its own rule. */
const unfinished = new RegExp(`\\b(${['TO', 'FIX'].join('DO|')}ME)\\b.*`, 'g');

export const finished: Rule = {
  claim: 'nothing is marked as still to be done',
  remedy: 'do it, or open an issue and say nothing here',
  check: (sources) => sources.flatMap((source) => matches(source, unfinished)),
};

/** Home directories, and the given folders of this machine. */
export function machinePaths(folders: readonly string[]): Rule {
  const named = folders
    .filter((folder) => folder.length > 2)
    .map((folder) => folder.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const parts = ['/(?:home|Users)/\\w+/', ...named.map((folder) => `${folder}(?![\\w-])`)];
  const pattern = new RegExp(`(?<![\\w.])(?:${parts.join('|')})[^\\s'"\`)]*`, 'g');
  return {
    claim: 'no path of one machine',
    remedy: 'start from import.meta.url, the working directory, os.tmpdir() or an option',
    check: (sources: readonly SourceText[]) => sources.flatMap((s) => matches(s, pattern)),
  };
}
