// Tests of sitemaps that are too large or hostile. These are the slow tests; the others are in
// `test/unit/parse/sitemap/sitemap.test.ts`.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { entry, read, urlset } from '../sitemap-stage.ts';

const SITEMAP = new URL('../../../../../agent/parse/sitemap/sitemap.ts', import.meta.url);

const X = 'x'.repeat(1000);

/** The beginning of an XML file of 48 MB, and the text that is repeated after it. */
const HOSTILE: Readonly<Record<string, readonly [start: string, next: (n: number) => string]>> = {
  'millions of attributes': ['<urlset ', (n) => `a${n}="" `],
  'millions of attributes of a link': ['<feed><link ', (n) => `a${n}="" `],
  'a long value': ['<feed><link href="', () => X],
  'a long text': ['<urlset><url><loc>', () => X],
  'a long CDATA section': ['<urlset><url><loc><![CDATA[', () => X],
  'a long comment': ['<urlset><!--', () => X],
  'a long name': ['<urlset><', () => X],
  'a long entity': ['<urlset><url><loc>&#', () => '0'.repeat(1000)],
  'nested elements': ['<urlset>', () => '<a>'.repeat(300)],
  'entries that are no URLs': ['<urlset>', (n) => `<url><loc>x:${n}</loc></url>`],
};

function hostile([start, next]: readonly [string, (n: number) => string]): Uint8Array {
  const body = Buffer.from(new SharedArrayBuffer(48 * 1024 ** 2));
  let at = body.write(start);
  for (let n = 0; at < body.length; n += 100) {
    at += body.write(Array.from({ length: 100 }, (_, k) => next(n + k)).join(''), at);
  }
  return body;
}

test('sitemap: limits the inflated bytes and the number of URLs', async () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from('<urlset>'), Buffer.alloc(80 * 1024 ** 2, 32)]));
  assert.ok(bomb.length < 200_000);
  const before = process.memoryUsage().arrayBuffers;
  assert.equal((await read(bomb))!.isPartial, true);
  assert.ok(process.memoryUsage().arrayBuffers - before < 40 * 1024 ** 2);
  const many = urlset(...Array.from({ length: 100 }, (_, n) => `http://a.test/${n}`));
  const capped = (await read(many, { urlsMax: 30 }))!;
  assert.deepEqual([capped.urls.length, capped.isPartial], [30, true]);
});

test('sitemap: limits the characters of all URLs that are resolved against a long URL', async () => {
  const url = `http://a.test/${'x'.repeat(4000)}/`;
  const locs = (text: string, count: number) =>
    `<urlset>${Array.from({ length: count }, (_, n) => entry(text + n)).join('')}</urlset>`;
  const listed = (await read(locs('', 5000), { url }))!;
  assert.equal(listed.urls.length, Math.ceil(16_000_000 / (url.length + 4)));
  assert.equal(listed.isPartial, true);
  const refused = (await read(locs('ftp:', 20_000), { url }))!;
  assert.ok(refused.refused < 20_000, `${refused.refused}`);
  assert.equal(refused.isPartial, true);
  const short = (await read(locs('x:', 400_000)))!;
  assert.ok(short.refused < 300_000, `${short.refused}`);
});

for (const [what, parts] of Object.entries(HOSTILE)) {
  test(`sitemap: reads in a heap of 24 MiB: ${what}`, async () => {
    const script = `
      const { parentPort, workerData } = await import('node:worker_threads');
      const { readSitemap } = await import(${JSON.stringify(SITEMAP.href)});
      const sitemap = await readSitemap(workerData, { url: 'http://a.test/', declared: false });
      parentPort.postMessage(sitemap?.urls.length ?? 0);`;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`), {
      workerData: hostile(parts),
      resourceLimits: { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 12 },
    });
    assert.deepEqual(await once(worker, 'message'), [0]);
    await worker.terminate();
  });
}
