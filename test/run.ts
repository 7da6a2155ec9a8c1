// `npm test`: every test that a contributor runs before a commit. The unit tests share one process,
// every other file has its own, and two of them run at a time. What takes longer is run by `.ci/run`. Words after `npm test --` are patterns: only tests whose names match are run.

import fs from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const root = path.resolve(import.meta.dirname, '..');
/** A test that takes so long has failed: ten times what the longest takes on a busy machine. */
const testMsMax = 240_000;
const processes = 2;

// Some thousand processes load the same sources: without this each compiles them anew.
process.env.NODE_COMPILE_CACHE ??= path.join(root, 'node_modules/.cache/node-compile-cache');

const alone = fs
  .globSync('test/{property,contract,simulation,integration}/**/*.test.ts', { cwd: root })
  .sort();

run({
  cwd: root,
  files: ['test/together/unit.ts', ...alone, 'test/tidy.test.ts'],
  concurrency: processes,
  timeout: testMsMax,
  testNamePatterns: process.argv.slice(2),
})
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(new spec())
  .pipe(process.stdout);
