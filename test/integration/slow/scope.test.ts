// The scope of a real crawl: an expression that backtracks does not stop an agent, a narrowed scope
// stops requests to excluded URLs, and a wider one resumes them. The log of the server is judged.
// The slower of these tests; the others are in `test/integration/scope.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, start, until } from '../cli-process.ts';
import { site } from '../scope-stage.ts';

const PAGES = 30;

function numbered(folder: string): string[] {
  return Array.from({ length: PAGES }, (_, k) => `/${folder}/${k}`);
}

async function rows(config: string, sql: string): Promise<unknown> {
  const { code, stdout, stderr } = await run('query', config, sql, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

test('scope: a narrowed scope applies at the next launch, and a wider one restores the URLs', async (t) => {
  const dropped = numbered('drop');
  const { web, config } = await site(t, 75, [...dropped, ...numbered('keep')]);
  const first = start(['launch', await config([])]);
  await until('some pages', () => web.asked('site').length > 8);
  first.child.kill('SIGINT');
  assert.equal((await first.ended).code, 11);
  const before = new Set(web.asked('site').filter((path) => path.startsWith('/drop/')));
  assert.ok(before.size < PAGES);
  web.log.length = 0;

  const narrow = await config(['/drop/']);
  const second = await run('launch', narrow);
  assert.equal(second.code, 0, second.stderr);
  assert.deepEqual(
    web.asked('site').filter((path) => path.startsWith('/drop/')),
    [],
  );
  const count = 'SELECT reason, count(*) AS n FROM skipped GROUP BY reason';
  const skipped = PAGES - before.size;
  assert.deepEqual(await rows(narrow, count), [{ reason: 'scope', n: skipped }]);
  assert.equal((await run('audit', narrow)).code, 0);

  const wide = await config([]);
  const third = await run('launch', wide);
  assert.equal(third.code, 0, third.stderr);
  const again = web.asked('site').filter((path) => path.startsWith('/drop/'));
  assert.deepEqual(new Set([...before, ...again]), new Set(dropped));
  assert.deepEqual(await rows(wide, 'SELECT count(*) AS n FROM skipped'), [{ n: 0 }]);
  assert.equal((await run('audit', wide)).code, 0);
});
