// The scope of a real crawl: an expression that backtracks does not stop an agent, a narrowed scope
// stops requests to excluded URLs, and a wider one resumes them. The log of the server is judged.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './cli-process.ts';
import { site } from './scope-stage.ts';

test('scope: an expression that backtracks does not stop an agent', async (t) => {
  const { web, config } = await site(t, 74, [`/${'a'.repeat(40)}!`, '/after']);
  const launched = await run('launch', await config(['(a+)+$']));
  assert.equal(launched.code, 0, launched.stderr);
  assert.ok(web.asked('site').includes('/after'));
});
