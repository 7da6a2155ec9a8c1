// The slower of the tests in `test/unit/parse/parse-pool.test.ts`.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import ts from 'typescript';
import { page, withPool } from '../parse-pool-stage.ts';

test('pool: compiled to JavaScript, it starts its compiled thread', async () => {
  const root = fileURLToPath(new URL('../../../../', import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), 'ubiring-pool-'));
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    for (const name of ['url', 'parse']) {
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

test('pool: where no thread ever loads pages fail in the end', async () => {
  const script = new URL('data:text/javascript,throw new Error("never")');
  // A thread needs real time to end, however often it is looked at.
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
