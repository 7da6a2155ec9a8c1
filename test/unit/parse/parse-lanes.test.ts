import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { PageInput } from '../../../agent/parse/page/page.ts';
import { ParseLanes } from '../../../agent/parse/parse-lanes.ts';
import { large, SCRIPT, withLanes } from './parse-lanes-stage.ts';

const hanging: Record<string, Pick<PageInput, 'body' | 'sitemap'>> = {
  'a large page': { body: new Uint8Array(600 * 1024) },
  'a large sitemap': { body: new Uint8Array(600 * 1024), sitemap: { declared: false } },
  'a packed sitemap': { body: gzipSync('<urlset>'), sitemap: { declared: true } },
};

for (const [what, input] of Object.entries(hanging)) {
  test(`parse lanes: ${what} that never ends does not delay pages`, async () => {
    const lanes = new ParseLanes({ workers: 1, timeoutMs: 600_000, script: SCRIPT });
    try {
      const url = 'http://a.test/hang';
      const hangs = lanes.parse({ ...input, contentType: 'text/html', url }, 0);
      const closed = assert.rejects(hangs, { code: 'parse_closed' });
      for (let n = 0; n < 3; n++) {
        const body = new TextEncoder().encode('<a href=next>');
        const page = { body, contentType: 'text/html', url: `http://a.test/${n}` };
        assert.equal((await lanes.parse(page, 0)).links.length, 1);
      }
      await lanes.close();
      await closed;
    } finally {
      await lanes.close();
    }
  });
}

test('parse lanes: the largest pages are not parsed where they would delay smaller ones', () =>
  withLanes(async (lanes) => {
    const body = new Uint8Array(9_000_000);
    const hangs = lanes.parse({ body, contentType: 'text/html', url: 'http://a.test/hang' }, 0);
    const closed = assert.rejects(hangs, { code: 'parse_closed' });
    await lanes.parse(large('http://calm.test/'), 0);
    // The body is transferred, not copied, once the thread of its lane has loaded.
    while (body.byteLength > 0) await pause(5);
    await lanes.close();
    await closed;
  }));

test('parse lanes: after one slow large page, the large pages of its host wait for each other', () =>
  withLanes(async (lanes) => {
    const slow = [lanes.parse(large('http://a.test/hang'), 0)];
    // Both share one thread, so the slow page was cancelled before this one was parsed.
    await lanes.parse(large('http://b.test/'), 0);
    slow.push(lanes.parse(large('http://a.test/next'), 0));
    const ends = Promise.allSettled(slow);
    const calm = await Promise.race([lanes.parse(large('http://b.test/'), 0), ends]);
    assert.ok('links' in calm, 'the other host does not wait');
    await lanes.close();
    for (const { status } of await ends) assert.equal(status, 'rejected');
  }));
