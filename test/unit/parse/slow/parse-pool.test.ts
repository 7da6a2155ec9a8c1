// The slow tests of the parse pool; the others are in `test/unit/parse/parse-pool.test.ts`.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import ts from 'typescript';
import { identities, MANY, page, SCRIPT, together, withPool } from '../parse-pool-stage.ts';

for (const [way, code] of [
  ['throw', 'parse_crash'],
  ['exit', 'parse_crash'],
  ['hang', 'parse_timeout'],
] as const) {
  test(`pool: of pages sent together, only those that make their thread ${way} fail`, () =>
    withPool({ workers: 1, timeoutMs: 1000, script: SCRIPT }, async (pool) => {
      const names = ['0', `${way}1`, '2', `${way}3`, '4'];
      const pages = names.map((name) => pool.parse(page(`http://a.test/${name}/`), MANY));
      for (const [n, result] of (await Promise.allSettled(pages)).entries()) {
        if (n % 2 === 1) {
          assert.equal(result.status === 'rejected' && result.reason.code, code);
          assert.match(String(result.status === 'rejected' && result.reason), RegExp(names[n]!));
        } else {
          assert.ok(result.status === 'fulfilled');
          assert.deepEqual(identities(result.value.links), [`http://a.test/${n}/next`]);
        }
      }
    }));
}

test('pool: each of several pages has the time limit of one', () =>
  withPool({ workers: 1, timeoutMs: 1000, script: SCRIPT }, async (pool) => {
    const urls = Array.from({ length: 8 }, (_, n) => `http://a.test/slow/${n}`);
    const parsed = await Promise.all(urls.map((url) => pool.parse(page(url), MANY)));
    // No page was parsed a second time in a smaller group.
    assert.deepEqual(together(parsed), Array(8).fill(8));
  }));

test('pool: only a page that uses too much CPU time fails', () =>
  withPool({ workers: 1, timeoutMs: 600_000, cpuMs: 300, script: SCRIPT }, async (pool) => {
    const names = ['0', 'hang1', '2', 'hang3', '4'];
    const pages = names.map((name) => pool.parse(page(`http://a.test/${name}/`), MANY));
    for (const [n, result] of (await Promise.allSettled(pages)).entries()) {
      if (n % 2 === 0) assert.equal(result.status, 'fulfilled', names[n]);
      else assert.equal(result.status === 'rejected' && result.reason.code, 'parse_timeout');
    }
  }));

test('pool: a waiting page uses no CPU time', () =>
  withPool({ workers: 1, timeoutMs: 600_000, cpuMs: 300, script: SCRIPT }, async (pool) => {
    assert.equal((await pool.parse(page('http://a.test/sleep'))).links.length, 1);
  }));

test('pool: starts its compiled thread when it is compiled to JavaScript', async () => {
  const root = fileURLToPath(new URL('../../../../', import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), 'ubiring-pool-'));
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    for (const name of ['coding', 'url', 'parse']) {
      await cp(join(root, 'agent', name), join(folder, 'agent', name), { recursive: true });
    }
    for (const name of await readdir(join(folder, 'agent'), { recursive: true })) {
      if (!name.endsWith('.ts')) continue;
      const file = join(folder, 'agent', name);
      const { outputText } = ts.transpileModule(await readFile(file, 'utf8'), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2024,
          rewriteRelativeImportExtensions: true,
        },
      });
      await writeFile(file.replace(/ts$/, 'js'), outputText);
      await rm(file);
    }
    await writeFile(
      join(folder, 'use.mjs'),
      `import { parentPort } from 'node:worker_threads';
       import { ParsePool } from './agent/parse/parse-pool.js';
       const pool = new ParsePool({ workers: 1, timeoutMs: 60000 });
       const body = new TextEncoder().encode('<a href=b>');
       const page = await pool.parse({ body, contentType: 'text/html', url: 'http://a.test/' });
       await pool.close();
       parentPort.postMessage(page.links.length);`,
    );
    const [count] = await once(new Worker(join(folder, 'use.mjs')), 'message');
    assert.equal(count, 1);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('pool: pages finally fail if no thread ever loads', async () => {
  const script = new URL('data:text/javascript,throw new Error("never")');
  // The end of a thread takes real time, so the test also waits in real time.
  const reallyLater = setTimeout;
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    await withPool({ workers: 1, script }, async (pool) => {
      let isOver = false;
      const parsed = pool.parse(page('http://a.test/')).finally(() => {
        isOver = true;
      });
      const rejected = assert.rejects(parsed, { code: 'parse_crash' });
      let ms = 0;
      for (const step = 10; !isOver; ms += step) {
        mock.timers.tick(step);
        await new Promise((resolve) => reallyLater(resolve, 1));
      }
      await rejected;
      assert.ok(ms >= 120 * 250, `${ms} ms`);
    });
  } finally {
    mock.timers.reset();
  }
});
