import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mock, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { unpackUrls } from '../../../agent/parse/page/packed-urls.ts';
import type { PageInput, ParsedPage } from '../../../agent/parse/page/page.ts';
import { ParsePool } from '../../../agent/parse/parse-pool.ts';
import { identities, MANY, names, page, SCRIPT, together, withPool } from './parse-pool-stage.ts';

/** Pages whose links or whose sitemap have more than 256 Ki characters. */
const long: Record<string, PageInput> = {
  links: page(
    'http://a.test/',
    `<base href="http://a.test/${'x'.repeat(7000)}/">${names.map((n) => `<a href=${n}>`).join('')}`,
  ),
  lists: {
    ...page(
      'http://a.test/',
      names.map((n) => `http://a.test/${'x'.repeat(1900)}/${n}`).join('\n'),
    ),
    sitemap: { declared: true },
  },
};

/** Fails to load while POOL_LACKS is set in the environment with which the thread starts. */
const LATE = new URL(
  `data:text/javascript,if (process.env.POOL_LACKS) throw new Error(process.env.POOL_LACKS);
   await import(${JSON.stringify(SCRIPT.href)});`,
);

test('pool: returns each of many pages with its own links', () =>
  withPool({}, async (pool) => {
    const pages = Array.from({ length: 60 }, (_, n) => pool.parse(page(`http://a.test/${n}/`)));
    for (const [n, { links }] of (await Promise.all(pages)).entries()) {
      assert.deepEqual(identities(links), [`http://a.test/${n}/next`]);
    }
  }));

test('pool: transfers a body, but copies a part of a larger buffer', () =>
  withPool({ workers: 1 }, async (pool) => {
    const whole = page('http://a.test/');
    const part = { ...page('http://a.test/'), body: Buffer.from('x<a href=next>').subarray(1) };
    const first = await pool.parse(whole);
    const second = await pool.parse(part);
    assert.deepEqual(first, second);
    assert.equal(whole.body.byteLength, 0);
    assert.equal(part.body.byteLength, 13);
  }));

for (const way of ['throw', 'exit']) {
  test(`pool: only the page that makes its thread ${way} fails`, () =>
    withPool({ workers: 1, script: SCRIPT }, async (pool) => {
      const good = pool.parse(page('http://a.test/1'));
      const bad = assert.rejects(pool.parse(page(`http://a.test/${way}`)), { code: 'parse_crash' });
      const later = pool.parse(page('http://a.test/2'));
      await bad;
      assert.equal((await good).links.length, 1);
      assert.equal((await later).links.length, 1);
    }));
}

test('pool: sends pages that come together to a thread together, at most eight', () =>
  withPool({ workers: 1, script: SCRIPT }, async (pool) => {
    const urls = Array.from({ length: 18 }, (_, n) => `http://a.test/${n}/`);
    const parsed = await Promise.all(urls.map((url) => pool.parse(page(url), MANY)));
    assert.deepEqual(together(parsed), [...Array(16).fill(8), 2, 2]);
    for (const [n, { links }] of parsed.entries()) {
      assert.deepEqual(identities(links), [`${urls[n]}next`]);
    }
  }));

test('pool: a page waits for others according to the requests under way, and for none if they are few', () =>
  withPool({ workers: 2, script: SCRIPT }, async (pool) => {
    // With mocked timers no page is sent because time has passed.
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const alone = await Promise.all([0, 4].map((n) => pool.parse(page('http://a.test/1'), n)));
      assert.deepEqual(together(alone), [1, 1]);
      const pair = await Promise.all([8, 7].map((n) => pool.parse(page('http://a.test/2'), n)));
      assert.deepEqual(together(pair), [2, 2]);
    } finally {
      mock.timers.reset();
    }
  }));

test('pool: a page waits 20 milliseconds at most for others', () =>
  withPool({ workers: 1, script: SCRIPT }, async (pool) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const first = pool.parse(page('http://a.test/1'), MANY);
      mock.timers.tick(19);
      const second = pool.parse(page('http://a.test/2'), MANY);
      mock.timers.tick(1);
      assert.deepEqual(together(await Promise.all([first, second])), [2, 2]);
    } finally {
      mock.timers.reset();
    }
  }));

test('pool: a large page is sent alone and at once, and is transferred', () =>
  withPool({ workers: 1, script: SCRIPT }, async (pool) => {
    const large = page('http://a.test/large', '<a href=next>'.padEnd(64 * 1024 + 1));
    const small = [1, 2, 3].map((n) => page(`http://a.test/${n}`));
    const pages = [small[0]!, small[1]!, large, small[2]!].map((one) => pool.parse(one, MANY));
    assert.deepEqual(together(await Promise.all(pages)), [2, 2, 1, 1]);
    assert.equal(large.body.byteLength, 0);
  }));

for (const [what, input] of Object.entries(long)) {
  test(`pool: long results of pages that were sent together are returned separately: ${what}`, async () => {
    const workerData = new Int32Array(new SharedArrayBuffer(4));
    const script = new URL('../../../agent/parse/parse-worker.ts', import.meta.url);
    const worker = new Worker(script, { workerData });
    try {
      await once(worker, 'message');
      const answers: number[] = [];
      const all = new Promise<void>((resolve) => {
        worker.on('message', (pages: ParsedPage[]) => {
          answers.push(pages.length);
          if (answers.reduce((sum, count) => sum + count, 0) === 4) resolve();
        });
      });
      const short = page('http://a.test/', '');
      worker.postMessage([short, input, input, short]);
      await all;
      assert.deepEqual(answers, [2, 1, 1]);
      assert.equal(Atomics.load(workerData, 0), 4);
    } finally {
      await worker.terminate();
    }
  });
}

test('pool: reads a sitemap on a thread, and returns its URLs in one buffer', () =>
  withPool({ workers: 1 }, async (pool) => {
    const locs = ['http://a.test/1', '/2'].map((loc) => `<url><loc>${loc}</loc></url>`);
    const body = `<urlset>${locs.join('')}</urlset>`;
    const asked = { ...page('http://a.test/s', body), sitemap: { declared: false } };
    const { links, listed, digest } = await pool.parse(asked);
    assert.deepEqual(
      [links, listed?.kind, listed?.count, listed?.isPartial],
      [[], 'urls', 2, false],
    );
    const urls = [...unpackUrls(listed!.urls)];
    assert.deepEqual(identities(urls), ['http://a.test/1', 'http://a.test/2']);
    assert.match(digest, /^sha256:[0-9a-f]{64}$/);
    const other = { ...page('http://a.test/'), sitemap: { declared: true } };
    const { links: found, listed: none } = await pool.parse(other);
    assert.deepEqual([identities(found), none], [['http://a.test/next'], undefined]);
  }));

test('pool: only a page that takes too long fails', () =>
  withPool({ workers: 2, timeoutMs: 1000, script: SCRIPT }, async (pool) => {
    const hangs = ['hang1', 'hang2'].map((name) =>
      assert.rejects(pool.parse(page(`http://a.test/${name}`)), { code: 'parse_timeout' }),
    );
    await Promise.all(hangs);
    assert.equal((await pool.parse(page('http://a.test/ok'))).links.length, 1);
  }));

test('pool: with oneByOne, small pages are first, but every fourth place goes to the oldest', () =>
  withPool({ workers: 1, oneByOne: true, script: SCRIPT }, async (pool) => {
    const order: string[] = [];
    const sizes = [100, 900, 800, 50, 70, 60, 80];
    const pages = sizes.map((size) => page(`http://a.test/${size}`, 'x'.padEnd(size)));
    const packed = { ...page('http://a.test/packed'), sitemap: { declared: true } };
    packed.body.set([0x1f, 0x8b]);
    const all = [...pages, packed].map(async (one) => {
      await pool.parse(one, MANY);
      order.push(one.url.slice('http://a.test/'.length));
      assert.notEqual(one.body.byteLength, 0, 'the body is copied');
    });
    await Promise.all(all);
    assert.deepEqual(order, ['100', '50', '60', '900', '70', '80', '800', 'packed']);
  }));

test('pool: parses every page, however many wait for a thread', () =>
  withPool({ workers: 1 }, async (pool) => {
    const urls = Array.from({ length: 300 }, (_, k) => `http://a.test/${k}`);
    const pages = await Promise.all(urls.map((url) => pool.parse(page(url))));
    assert.ok(pages.every(({ links }) => links.length === 1));
  }));

test('pool: closing fails open pages and refuses further ones', async () => {
  const pool = new ParsePool({ workers: 1, timeoutMs: 60_000, script: SCRIPT });
  const open = ['hang', 'waits'].map((name) =>
    assert.rejects(pool.parse(page(`http://a.test/${name}`)), { code: 'parse_closed' }),
  );
  await pool.close();
  await Promise.all(open);
  await assert.rejects(pool.parse(page('http://a.test/')), { code: 'parse_closed' });
});

test("pool: parses on the caller's thread if there are no workers", () =>
  withPool({ workers: 0 }, async (pool) => {
    const { links } = await pool.parse(page('http://a.test/'));
    assert.deepEqual(identities(links), ['http://a.test/next']);
  }));

test('pool: a page waits for another thread if its thread cannot load', () =>
  withPool({ workers: 1, script: LATE }, async (pool) => {
    process.env.POOL_LACKS = 'descriptors';
    const early = pool.parse(page('http://a.test/1'));
    const lack = setTimeout(() => delete process.env.POOL_LACKS, 400);
    try {
      assert.equal((await early).links.length, 1);
      // A page that ends its thread still fails.
      await assert.rejects(pool.parse(page('http://a.test/exit')), { code: 'parse_crash' });
      assert.equal((await pool.parse(page('http://a.test/2'))).links.length, 1);
    } finally {
      clearTimeout(lack);
      delete process.env.POOL_LACKS;
    }
  }));
