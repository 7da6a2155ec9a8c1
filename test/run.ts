// `npm test`: every test that a contributor runs before a commit. The unit tests and properties
// share one process, and so do the simulations; every other file has its own process. The folders
// `slow` hold slower tests, which `.ci/run` runs. Arguments after `npm test --` are patterns: only
// tests whose names match are run.

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

const alone = fs
  .globSync('test/{contract/**,integration}/*.test.ts', { cwd: root, exclude: ['**/slow/**'] })
  .sort();

run({
  cwd: root,
  // The files that take longest come first.
  files: ['test/together/unit.ts', 'test/together/simulation.ts', ...alone, 'test/tidy.test.ts'],
  concurrency: processes,
  timeout: testMsMax,
  testNamePatterns: process.argv.slice(2),
})
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(new spec())
  .pipe(process.stdout);
