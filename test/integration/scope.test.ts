// A scope on the running product: an expression that backtracks harms nobody, what a narrowed scope
// excludes is not asked for any more, and a wider one brings it back. Judged by the server's log.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './cli-process.ts';
import { site } from './scope-stage.ts';

test('scope: an expression that backtracks stops no agent', async (t) => {
  const { web, config } = await site(t, 74, [`/${'a'.repeat(40)}!`, '/after']);
  const launched = await run('launch', await config(['(a+)+$']));
  assert.equal(launched.code, 0, launched.stderr);
  assert.ok(web.asked('site').includes('/after'));
});
