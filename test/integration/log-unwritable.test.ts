// An unwritable log does not delay an exit: with stderr on a full disk or in a pipe without a
// reader, a complete or stopped crawl ends as usual. A launch kills an agent that does not exit.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { main, skip } from './log-unwritable-stage.ts';

describe('stdout on a full disk', { skip }, () => {
  const onFullDisk = (...args: string[]) => {
    const stdout = fs.openSync('/dev/full', 'w');
    const stdio: ['ignore', number, 'pipe'] = ['ignore', stdout, 'pipe'];
    return spawnSync(process.execPath, [main, ...args], { stdio, encoding: 'utf8' });
  };

  for (const words of [['--help'], ['--version'], ['launch', '--help'], ['help', 'query']]) {
    test(`${words.join(' ')} ends with 3 and reports the error`, () => {
      const { status, stderr } = onFullDisk(...words);
      assert.equal(status, 3, stderr);
      assert.match(stderr, /cannot write to stdout: ENOSPC/);
    });
  }
});
