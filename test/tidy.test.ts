// Enforces the machine-checkable parts of the house style and of the folders in
// docs/ARCHITECTURE.md, one test for each rule, over every file of the repository. The rules are in
// test/tidy/, and test/unit/tidy/ shows that each detects a planted violation.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { deadExports } from './tidy/exports.ts';
import { oneWay } from './tidy/imports.ts';
import { ambient, sql } from './tidy/reach.ts';
import {
  agentFolder,
  fileLength,
  fileNames,
  finished,
  folderSize,
  functionLength,
  language,
  machinePaths,
  mirroredTests,
  opening,
  uniqueNames,
} from './tidy/shape.ts';
import { isShipped, type Rule, readTree } from './tidy/source.ts';

const root = resolve(import.meta.dirname, '..');
const sources = readTree(root);

/** The clone and its parent folder, except for folders such as /tmp that texts may name. */
const ownFolders = [root, dirname(root)].filter((folder) => folder.split(/[\\/]/).length > 2);

/** Exports that no shipped file imports, each with its reason. */
const allowedExports: Readonly<Record<string, string>> = {
  'agent/storage/file/database.ts#openInMemory':
    'the simulated cluster keeps its state in the real tables',
};

const rules: readonly Rule[] = [
  oneWay,
  folderSize,
  agentFolder,
  uniqueNames,
  mirroredTests,
  fileLength,
  functionLength,
  opening,
  fileNames,
  language,
  finished,
  machinePaths([...ownFolders, homedir()]),
  ambient,
  sql,
  deadExports(allowedExports),
];

describe('tidy', () => {
  for (const rule of rules) {
    it(rule.claim, () => {
      const offences = rule
        .check(sources)
        .map(({ path, line, what }) => `${path}:${line}: ${what}`);
      assert.ok(offences.length === 0, `${rule.remedy}\n${offences.join('\n')}`);
    });
  }

  it('dependency-cruiser reads every shipped file and reports no violation', () => {
    // With an unknown version of TypeScript it reads no file, reports nothing and exits with 0.
    const shipped = sources.filter(isShipped);
    const folders = [...new Set(shipped.map(({ path }) => path.split('/')[0]!))];
    const program = resolve(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
    const flags = ['--config', '.dependency-cruiser.json', '--output-type', 'json', ...folders];
    const output = execFileSync(process.execPath, [program, ...flags], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const { modules, summary } = JSON.parse(output) as {
      modules: { source: string }[];
      summary: { violations: { rule: { name: string }; from: string; to: string }[] };
    };
    const read = new Set(modules.map(({ source }) => source));
    assert.deepEqual(
      shipped.map(({ path }) => path).filter((path) => !read.has(path)),
      [],
    );
    assert.deepEqual(
      summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} > ${to}`),
      [],
    );
  });
});
