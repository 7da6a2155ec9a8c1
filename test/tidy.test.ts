// Enforces the parts of the house style that a machine can check, and the folders in
// docs/ARCHITECTURE.md: one test per rule, over every file of the repository. The rules are in
// test/tidy/. The tests in test/unit/tidy/ show that each rule catches a planted offence.
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

/** The checkout and its parent folder, except top-level folders such as /tmp. */
const ownFolders = [root, dirname(root)].filter((folder) => folder.split(/[\\/]/).length > 2);

/** Exports that no shipped file imports, each with the reason. */
const allowedExports: Readonly<Record<string, string>> = {
  'agent/kademlia/routing/stored-values.ts#StoredValues': 'no message carries values yet',
  'agent/kademlia/routing/stored-values.ts#copyLeftMs': 'no message carries values yet',
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

  it('dependency-cruiser reads every shipped file and finds nothing', () => {
    // With an unsupported TypeScript it reads no file, finds nothing and exits with 0.
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
