// `npm test`: every test that a contributor runs before a commit. The unit tests and properties
// share one process, and so do the simulations. Every other file has its own process. `.ci/run`
// runs the slower tests, in the folders `slow`. Arguments after `npm test --` are patterns that
// select tests by their names.

import fs from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const root = path.resolve(import.meta.dirname, '..');
/** Limit for a test: ten times what the longest takes on a busy machine. */
const testMsMax = 240_000;
const processes = 2;

// Thousands of processes load the same sources. Without the cache each compiles them anew.
process.env.NODE_COMPILE_CACHE ??= path.join(root, 'node_modules/.cache/node-compile-cache');

const alone = fs
  .globSync('test/{contract/**,integration}/*.test.ts', { cwd: root, exclude: ['**/slow/**'] })
  .sort();

run({
  cwd: root,
  // The longest files first.
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
