import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import ts from 'typescript';
import type { PageInput } from '../../../agent/parse/page.ts';
import { ParsePool, type ParsePoolOptions } from '../../../agent/parse/pool.ts';

const SCRIPT = new URL('./unruly-worker.ts', import.meta.url);

function page(url: string, body = '<a href=next>'): PageInput {
  return { body: new TextEncoder().encode(body), contentType: 'text/html', url };
}

async function withPool(
  options: Partial<ParsePoolOptions>,
  use: (pool: ParsePool) => Promise<void>,
): Promise<void> {
  const pool = new ParsePool({ workers: 2, queueMax: 100, timeoutMs: 60_000, ...options });
  try {
    await use(pool);
  } finally {
    await pool.close();
  }
}

const identities = (urls: { identity: string }[] | readonly { identity: string }[]) =>
  urls.map(({ identity }) => identity);

test('pool: many pages come back, each with its own links', () =>
  withPool({}, async (pool) => {
    const pages = Array.from({ length: 60 }, (_, n) => pool.parse(page(`http://a.test/${n}/`)));
    for (const [n, { links }] of (await Promise.all(pages)).entries()) {
      assert.deepEqual(identities(links), [`http://a.test/${n}/next`]);
    }
  }));

test('pool: the body is given away, a part of a larger buffer is copied', () =>
  withPool({}, async (pool) => {
    const whole = page('http://a.test/');
    const part = { ...page('http://a.test/'), body: Buffer.from('x<a href=next>').subarray(1) };
    const [first, second] = await Promise.all([pool.parse(whole), pool.parse(part)]);
    assert.deepEqual(first, second);
    assert.equal(whole.body.byteLength, 0);
    assert.equal(part.body.byteLength, 13);
  }));

for (const way of ['throw', 'exit']) {
  test(`pool: a page that makes its thread ${way} fails alone`, () =>
    withPool({ workers: 1, script: SCRIPT }, async (pool) => {
      const good = pool.parse(page('http://a.test/1'));
      const bad = assert.rejects(pool.parse(page(`http://a.test/${way}`)), { code: 'parse_crash' });
      const later = pool.parse(page('http://a.test/2'));
      await bad;
      assert.equal((await good).links.length, 1);
      assert.equal((await later).links.length, 1);
    }));
}

test('pool: pages that come at once go to a thread together, eight at most', () =>
  withPool({ workers: 1, script: SCRIPT }, async (pool) => {
    const pages = Array.from({ length: 18 }, (_, n) => pool.parse(page(`http://a.test/${n}/`)));
    const parsed = await Promise.all(pages);
    // The unruly thread tells in `linksDropped` how many pages it had at once.
    const together = parsed.map(({ linksDropped }) => linksDropped);
    assert.deepEqual(together, [1, ...Array(16).fill(8), 1]);
    for (const [n, { links }] of parsed.entries()) {
      assert.deepEqual(identities(links), [`http://a.test/${n}/next`]);
    }
  }));

test('pool: a page that comes by itself waits for no other', () =>
  withPool({ workers: 1, script: SCRIPT }, async (pool) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { linksDropped } = await pool.parse(page('http://a.test/1'));
      assert.equal(linksDropped, 1);
    } finally {
      mock.timers.reset();
    }
  }));

test('pool: a large page goes alone, and is given away', () =>
  withPool({ workers: 1, script: SCRIPT }, async (pool) => {
    const large = page('http://a.test/large', '<a href=next>'.padEnd(64 * 1024 + 1));
    const small = [1, 2, 3].map((n) => page(`http://a.test/${n}`));
    const pages = [small[0]!, small[1]!, large, small[2]!].map((input) => pool.parse(input));
    const together = (await Promise.all(pages)).map(({ linksDropped }) => linksDropped);
    assert.deepEqual(together, [1, 1, 1, 1]);
    assert.equal(large.body.byteLength, 0);
  }));

test('pool: pages that were with one that hangs are parsed by themselves', () =>
  withPool({ workers: 1, timeoutMs: 1000, script: SCRIPT }, async (pool) => {
    const first = pool.parse(page('http://a.test/0'));
    const before = pool.parse(page('http://a.test/1'));
    const hangs = assert.rejects(pool.parse(page('http://a.test/hang')), { code: 'parse_timeout' });
    const behind = pool.parse(page('http://a.test/2'));
    await hangs;
    for (const { links } of await Promise.all([first, before, behind])) {
      assert.equal(links.length, 1);
    }
  }));

test('pool: a page that takes too long fails alone', () =>
  withPool({ workers: 2, timeoutMs: 1000, script: SCRIPT }, async (pool) => {
    const hangs = ['hang1', 'hang2'].map((name) =>
      assert.rejects(pool.parse(page(`http://a.test/${name}`)), { code: 'parse_timeout' }),
    );
    await Promise.all(hangs);
    assert.equal((await pool.parse(page('http://a.test/ok'))).links.length, 1);
  }));

test('pool: what exceeds the queue is refused at once', () =>
  withPool({ workers: 1, queueMax: 1 }, async (pool) => {
    const first = pool.parse(page('http://a.test/1'));
    const second = pool.parse(page('http://a.test/2'));
    await assert.rejects(pool.parse(page('http://a.test/3')), { code: 'parse_queue_full' });
    await Promise.all([first, second]);
  }));

test('pool: closing fails what is open and refuses more', async () => {
  const pool = new ParsePool({ workers: 1, queueMax: 9, timeoutMs: 60_000, script: SCRIPT });
  const open = ['hang', 'waits'].map((name) =>
    assert.rejects(pool.parse(page(`http://a.test/${name}`)), { code: 'parse_closed' }),
  );
  await pool.close();
  await Promise.all(open);
  await assert.rejects(pool.parse(page('http://a.test/')), { code: 'parse_closed' });
});

test('pool: without threads pages are parsed by the caller', () =>
  withPool({ workers: 0 }, async (pool) => {
    const { links } = await pool.parse(page('http://a.test/'));
    assert.deepEqual(identities(links), ['http://a.test/next']);
  }));

test('pool: compiled to JavaScript, it starts its compiled thread', async () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
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
       import { ParsePool } from './agent/parse/pool.js';
       const pool = new ParsePool({ workers: 1, queueMax: 1, timeoutMs: 60000 });
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
