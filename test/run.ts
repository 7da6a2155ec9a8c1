// `npm test`: every test that a contributor runs before a commit. The files of `test/together` each run
// many test files in one process; every other file has its own process. Arguments after `npm test --`
// are patterns: only tests whose names match are run. With `--slow` first, the tests of the folders
// `slow`, and those of the archive, are run instead, as `.ci/run` does.

import fs from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const root = path.resolve(import.meta.dirname, '..');
/** A test that takes longer fails. This is ten times the longest test on a busy machine. */
const testMsMax = 240_000;
const processes = 4;

// Thousands of processes load the same sources. Without the cache each would compile them again.
process.env.NODE_COMPILE_CACHE ??= path.join(root, 'node_modules/.cache/node-compile-cache');

const isSlow = process.argv[2] === '--slow';

function filesOf(pattern: string, exclude: readonly string[] = []): string[] {
  return fs.globSync(pattern, { cwd: root, exclude }).sort();
}

// The files that take longest come first.
const files = isSlow
  ? [
      'test/together/unit-slow.ts',
      ...filesOf('test/{contract,integration}/slow/*.test.ts'),
      ...filesOf('test/chaos/archive-*.test.ts'),
    ]
  : [
      'test/together/unit.ts',
      'test/together/unit-cli.ts',
      'test/together/simulation.ts',
      ...filesOf('test/{contract/**,integration}/*.test.ts', ['**/slow/**']),
      'test/tidy.test.ts',
    ];

run({
  cwd: root,
  files,
  concurrency: isSlow ? 3 : processes,
  timeout: testMsMax,
  testNamePatterns: process.argv.slice(isSlow ? 3 : 2),
})
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(new spec())
  .pipe(process.stdout);
